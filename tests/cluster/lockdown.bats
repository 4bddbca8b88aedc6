# SPDX-License-Identifier: GPL-2.0-or-later
# A job on a kernel that is locked down, as by Secure Boot. Nothing but a reboot undoes that: the last suite of a
# guest. tests/cli/lockdown.bats has what works with lockdown=integrity.
. "${BATS_TEST_DIRNAME}/cluster.bash"

setup_file() {
    cluster_is_there || cluster_start_lean v2
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

@test "with lockdown=integrity jobs are still counted exactly" {
    mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security
    echo integrity > /sys/kernel/security/lockdown
    id=$(submit alice --wrap 'work write:/scratch/locked:7:1000')
    job_wait "$id"
    same "write 7 7000 0" "$(account "$id" /scratch | grep ^write)"
    job_json "$id" | jq -e .complete
}

@test "with lockdown=confidentiality jobs run on, and jobiod logs once that nothing is counted" {
    echo confidentiality > /sys/kernel/security/lockdown
    blind lockdown
    was_blind lockdown "lockdown mode 'confidentiality' forbids"
}
