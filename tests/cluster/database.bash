# SPDX-License-Identifier: GPL-2.0-or-later
# slurmdbd with MariaDB, in memory, for suites that set CLUSTER_DATABASE=1.

# Creating the database takes a while: call this first, so that it runs while the rest starts.
cluster_mariadb() {
    local options="--no-defaults --user=mysql --datadir=$cluster_dir/mysql --innodb-log-file-size=4M
        --innodb-buffer-pool-size=24M --performance-schema=OFF
        --loose-innodb-snapshot-isolation=OFF" # else slurmdbd 26.05 exits on a conflict
    install -d -o mysql /run/mysqld "$cluster_dir/mysql"
    mariadb-install-db $options --skip-test-db --auth-root-authentication-method=socket
    unit mariadb mariadbd $options --skip-networking --socket=/run/mysqld/mysqld.sock
}

cluster_database() {
    wait_for 120 mariadb -e 'SELECT 1'
    mariadb -e "CREATE DATABASE slurm_acct_db;
        CREATE USER slurm@localhost IDENTIFIED BY 'secret';
        GRANT ALL ON slurm_acct_db.* TO slurm@localhost"
    install -o slurm -m 0600 /dev/stdin /etc/slurm/slurmdbd.conf << END
AuthType=auth/munge
DbdHost=$node
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=secret
StorageLoc=slurm_acct_db
PidFile=/run/slurmdbd.pid
LogFile=$cluster_dir/slurmdbd.log
END
    : > $cluster_dir/slurmdbd.log
    chown slurm $cluster_dir/slurmdbd.log
    unit slurmdbd -p User=slurm slurmdbd -D
    wait_for 120 sacctmgr -n show cluster
}

# comments JOB: print the AdminComments of the job's runs in the accounting, oldest first
comments() {
    sacct -D -X -n -P -o AdminComment -j "$1"
}
