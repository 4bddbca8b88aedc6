# SPDX-License-Identifier: GPL-2.0-or-later
# The file systems that workloads run on, below $M; each is made when it is first needed. In a guest, or,
# for some of them, in our own mount namespace.
[ -n "${M-}" ] || [ -d /run/guest ] || { echo "mounts.bash: set M outside a guest" >&2; exit 1; }
M=${M:-/mnt}
images=/run/images

# directory_of NAME: sets $directory to its directory
directory_of() {
    case $1 in
        shm) directory=/dev/shm ;;
        root) directory=/root ;;
        gpfs | lustre) directory=$M/$1/scratch ;; # as sites name them: the same last part
        devel) directory=/devel ;;                # begins like /dev
        *) directory=$M/$1 ;;
    esac
}

# image NAME SIZE COMMAND...: make an image with the command
image() {
    mkdir -p $images
    [ -e "$images/$1" ] || { truncate -s "$2" "$images/$1" && "${@:3}" "$images/$1" > /dev/null; }
}

# use_mount NAME: mount it at $M/NAME, once
use_mount() {
    [ ! -e "$M/.$1" ] || return 0
    [ ! -d /run/guest ] || modprobe -a loop ext4 fuse
    mkdir -p "$M/$1"
    "mount_$1" > "$M/.$1.log" 2>&1 || { cat "$M/.$1.log" >&2; return 1; }
    : > "$M/.$1"
}

mount_ext4() {
    image ext4 512M mkfs.ext4 -q
    mount -o loop $images/ext4 $M/ext4
}

# On a disk that supports polling for completions.
mount_polled() {
    modprobe null_blk nr_devices=1 gb=1 memory_backed=1 submit_queues=1 poll_queues=1 queue_mode=2
    mkfs.ext4 -q /dev/nullb0
    mount /dev/nullb0 $M/polled
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

named_tmpfs() {
    mkdir -p "$1"
    mount -t tmpfs named "$1"
}

mount_gpfs() {
    named_tmpfs $M/gpfs/scratch
}

mount_lustre() {
    named_tmpfs $M/lustre/scratch
}

mount_devel() {
    named_tmpfs /devel
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

mount_quota() {
    modprobe quota_v2
    image quota 16M mkfs.ext4 -q -O quota
    mount -o loop,usrquota $images/quota $M/quota
    setquota -u 65534 0 500 0 0 $M/quota
}

# A bind mount of a part of ext4.
mount_bind() {
    use_mount ext4
    mkdir -p $M/ext4/part
    mount --bind $M/ext4/part $M/bind
}

# Two subvolumes of one file system.
mount_btrfs() {
    modprobe btrfs
    image btrfs 256M mkfs.btrfs -q
    mkdir -p /run/btrfs
    mount -o loop $images/btrfs /run/btrfs
    btrfs subvolume create /run/btrfs/first
    btrfs subvolume create /run/btrfs/second
    umount /run/btrfs
    mount -o loop,subvol=first $images/btrfs $M/btrfs
}

mount_btrfsb() {
    use_mount btrfs
    mount -o subvol=second "$(findmnt -no SOURCE $M/btrfs | sed 's/\[.*//')" $M/btrfsb
}

# The files that workloads on images expect.
fill_directory() {
    mkdir -p "$1/directory"
    head -c 100000 /dev/zero > "$1/data"
    echo below > "$1/directory/below"
}

mount_overlay() {
    local parts=/run/overlay
    mkdir -p $parts/{lower,upper,work}
    mountpoint -q $parts || mount -t tmpfs parts $parts
    mkdir -p $parts/{lower,upper,work}
    fill_directory $parts/lower
    mount -t overlay -o lowerdir=$parts/lower,upperdir=$parts/upper,workdir=$parts/work overlay $M/overlay
}

squashfs_image() {
    fill_directory /run/squashfs
    mksquashfs /run/squashfs $images/squashfs -quiet -no-progress
}

mount_squashfs() {
    modprobe squashfs
    mkdir -p $images
    [ -e $images/squashfs ] || squashfs_image
    mount -o loop $images/squashfs $M/squashfs
}

mount_squashfuse() {
    modprobe fuse
    mkdir -p $images
    [ -e $images/squashfs ] || squashfs_image
    squashfuse -o allow_other $images/squashfs $M/squashfuse
}

mount_fuse() {
    modprobe fuse
    mkdir -p /run/under
    bindfs /run/under $M/fuse
}

# Two mounts of one export of this machine: one file system for the client.
nfs_server() {
    modprobe -a nfs nfsd
    image nfs 128M mkfs.ext4 -q
    mkdir -p /run/exported /var/lib/nfs/{v4recovery,rpc_pipefs}
    mount -o loop $images/nfs /run/exported
    mkdir -p /run/exported/{one,two}
    mount -t nfsd nfsd /proc/fs/nfsd
    mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
    exportfs -i -o rw,no_root_squash,fsid=0,insecure,no_subtree_check '127.0.0.1:/run/exported'
    rpc.mountd -N 2 -N 3
    rpc.nfsd -N 3 2
    mount -t nfs4 -o vers=4.2 127.0.0.1:/ /mnt/nfs
}

mount_nfs() {
    nfs_server
}

mount_nfsb() {
    use_mount nfs
    mount -t nfs4 -o vers=4.2 127.0.0.1:/two $M/nfsb
}

mount_autofs() {
    modprobe autofs4
    mkdir -p /run/autofs
    echo "/mnt/autofs /run/autofs/map" > /run/autofs/master
    echo "auto -fstype=tmpfs :automounted" > /run/autofs/map
    automount --pid-file /run/autofs/pid /run/autofs/master
}

# With ext4 below, so that files can leave the page cache.
mount_overlayb() {
    use_mount ext4
    mkdir -p $M/ext4/{lower,upper,work}
    mount -t overlay -o lowerdir=$M/ext4/lower,upperdir=$M/ext4/upper,workdir=$M/ext4/work overlay \
        $M/overlayb
}
