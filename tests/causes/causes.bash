# SPDX-License-Identifier: GPL-2.0-or-later
# The file systems and files of the programs in causes.list and healthy.list, in a guest: /nfs (NFSv4.2 of
# this machine; each message to its server takes 4 ms), /scratch (ext4), /full (ext4, almost full), /quota
# (ext4 with a quota), and /fast (tmpfs).

# ext4 NAME SIZE DIRECTORY [MKFS OPTION]...
ext4() {
    truncate -s "$2" "/run/$1.image"
    mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1 "${@:4}" "/run/$1.image"
    mkdir -p "$3"
    mount -o "loop${options-}" "/run/$1.image" "$3"
    chmod 1777 "$3"
}

# nfs_server THREADS MOUNTD-OPTIONS NFSD-OPTIONS: the server of /srv/nfs
nfs_server() {
    modprobe -a nfs nfsd
    ext4 nfs 512M /srv/nfs
    mkdir -p /var/lib/nfs/{v4recovery,rpc_pipefs} /nfs
    mount -t nfsd nfsd /proc/fs/nfsd
    mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
    echo 10 > /proc/fs/nfsd/nfsv4leasetime
    echo 10 > /proc/fs/nfsd/nfsv4gracetime
    exportfs -i -o rw,no_root_squash,fsid=0,insecure,no_subtree_check 127.0.0.1:/srv/nfs
    # shellcheck disable=SC2086 # options
    rpc.mountd $2
    # shellcheck disable=SC2086 # options
    rpc.nfsd $3 -V 4.2 "$1"
    echo Y > /proc/fs/nfsd/v4_end_grace || :
}

nfs() {
    nfs_server 4 "-N 3" "-N 3"
    nfs_mount
}

nfs_mount() {
    mount -t nfs4 -o vers=4.2 127.0.0.1:/ /nfs
}

# slow_nfs MILLISECONDS [RATE]: how long each message to the server takes, and how much may be sent
slow_nfs() {
    modprobe -a sch_prio sch_netem cls_u32
    tc qdisc replace dev lo root handle 1: prio bands 4
    tc qdisc replace dev lo parent 1:4 handle 40: netem limit 100000 delay "$1ms" ${2:+rate "$2"}
    tc filter replace dev lo parent 1: protocol ip prio 1 u32 match ip dport 2049 0xffff flowid 1:4
}

files() {
    local i
    mkdir -p /srv/nfs/small /scratch/medium
    for i in {0..299}; do
        echo "file $i...." > /srv/nfs/small/$i
    done
    truncate -s 100M /srv/nfs/large
    head -c 8M /dev/zero | tr '\0' x > /srv/nfs/again
    head -c 8M /dev/zero | tr '\0' x > /scratch/bytes
    for i in {0..15}; do
        head -c 1M /dev/urandom > /scratch/medium/$i
    done
    seq 60000 | awk '{ print ($1 * 7919) % 1000003, "line", $1 }' > /scratch/lines
    chmod -R a+rwX /srv/nfs /scratch
}

causes_prepare() {
    modprobe -a loop ext4 quota_v2
    mkdir -p /fast
    mount -t tmpfs -o mode=1777 fast /fast
    ext4 scratch 256M /scratch
    ext4 full 2M /full
    options=,usrquota ext4 quota 16M /quota -O quota
    setquota -u 65534 0 500 0 0 /quota
    nfs
    files
    slow_nfs 4
}

# causes_cold: the client knows no file of the server, and has nothing of it in its page cache
causes_cold() {
    umount /nfs
    nfs_mount
}
