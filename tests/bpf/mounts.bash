# SPDX-License-Identifier: GPL-2.0-or-later
# The file systems that workloads run on, each made when it is first wanted, below $M. In a guest.
M=/mnt
images=/run/images

# folder_of NAME: where it is, in $folder
folder_of() {
    case $1 in
        shm) folder=/dev/shm ;;
        root) folder=/root ;;
        *) folder=$M/$1 ;;
    esac
}

# image NAME SIZE COMMAND...: make it with the command
image() {
    mkdir -p $images
    [ -e "$images/$1" ] || { truncate -s "$2" "$images/$1" && "${@:3}" "$images/$1" > /dev/null; }
}

# use_mount NAME: mount it at $M/NAME, once
use_mount() {
    [ ! -e "$M/.$1" ] || return 0
    modprobe -a loop ext4
    mkdir -p "$M/$1"
    "mount_$1" > "$M/.$1.log" 2>&1 || { cat "$M/.$1.log" >&2; return 1; }
    : > "$M/.$1"
}

mount_ext4() {
    image ext4 512M mkfs.ext4 -q
    mount -o loop $images/ext4 $M/ext4
}

mount_ext4b() {
    image ext4b 64M mkfs.ext4 -q
    mount -o loop $images/ext4b $M/ext4b
}

mount_tmpfs() {
    mount -t tmpfs first $M/tmpfs
}

mount_tmpfsb() {
    mount -t tmpfs second $M/tmpfsb
}

# The guest's own root, an overlay.
mount_root() {
    :
}

mount_shm() {
    :
}

mount_small() {
    mount -t tmpfs -o size=300k small $M/small
}

mount_smallext4() {
    image smallext4 2M mkfs.ext4 -q
    mount -o loop $images/smallext4 $M/smallext4
}

mount_xfs() {
    modprobe xfs
    image xfs 400M mkfs.xfs -q -m reflink=1
    mount -o loop $images/xfs $M/xfs
}
