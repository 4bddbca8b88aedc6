#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The counters of MPI-IO against programs of HDF5, NetCDF and PnetCDF, which call it, on the running kernel.
# The truth is from an interposition library, truth.c, in the same run: it calls PMPI_X, where jobio counts.
# The same programs without it must have the same counts. As root; BUILD: the build directory.

bats_require_minimum_version 1.5.0
load sums.bash

setup_file() {
    local here=$BATS_TEST_DIRNAME libraries mpi
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export D=$BATS_FILE_TMPDIR PATH=$BUILD:$PATH
    libraries=/usr/lib/$(gcc -print-multiarch)
    for mpi in mpich openmpi; do
        mpicc.$mpi -O1 -shared -fPIC -o "$D/truth.$mpi.so" "$here/truth.c"
        # shellcheck disable=SC2046 # options
        mpicc.$mpi -O1 -o "$D/hdf5.$mpi" "$here/hdf5.c" $(pkg-config --cflags --libs hdf5-$mpi)
        mpifort.$mpi -O1 -o "$D/fortran.$mpi" "$here/hdf5.f90" -I/usr/include/hdf5/$mpi \
            -L"$libraries/hdf5/$mpi" -lhdf5_fortran -lhdf5
    done
    # Debian has these for Open MPI.
    mpicc.openmpi -O1 -o "$D/netcdf.openmpi" "$here/netcdf.c" -I"$libraries/netcdf/mpi/include" -lnetcdf_mpi
    mpicc.openmpi -O1 -o "$D/pnetcdf.openmpi" "$here/pnetcdf.c" -lpnetcdf
}

RANKS=3

# run_ranks COMMAND...: with the mpirun of $mpi
run_ranks() {
    local options=()
    [ "$mpi" = mpich ] || options=(--oversubscribe)
    rm -f "$D/file"
    timeout 120 "mpirun.$mpi" "${options[@]}" -n $RANKS "$@"
}

# count SCRIPT: the document in $D/json, what truth.c counted in $D/truth
count() {
    rm -f "$D/truth"
    export -f run_ranks
    export RANKS mpi
    jobio run --mpi --json --output "$D/json" -- bash -e -c "$1"
}

is_complete() {
    jq -c .mpi.incomplete "$D/json"
    jq -e .mpi.complete "$D/json"
}

# check PROGRAM TRANSFER [CLASS BYTES]...: the counts are those of truth.c, which are kept for the run
# without it. These classes have the bytes that the program wrote or read.
check() {
    local program=$1 transfer=$2 class bytes
    shift 2
    echo "$mpi, $program, $transfer"
    count "run_ranks env LD_PRELOAD=$D/truth.$mpi.so TRUTH=$D/truth $D/$program.$mpi $D/file $transfer"
    diff <(summed < "$D/truth") <(counted "$D/json")
    is_complete
    while [ $# -gt 0 ]; do
        class=$1 bytes=$2
        jq -e ".mpi.calls.$class.bytes == $bytes" "$D/json"
        shift 2
    done
    cat "$D/truth" >> "$D/truth.$mpi"
    echo "run_ranks $D/$program.$mpi $D/file $transfer" >> "$D/without.$mpi"
}

@test "HDF5, collective and independent, with both implementations" {
    # Two datasets of 8 rows a rank, of 50 integers; the independent writes include metadata.
    bytes=$((2 * RANKS * 8 * 50 * 4))
    for mpi in mpich openmpi; do
        check hdf5 collective read_all $bytes
        jq -e '.mpi.calls | has("write_all") and has("set_view") and (has("read") | not)' "$D/json"
        check hdf5 independent read $bytes
        jq -e '.mpi.calls | has("write") and (has("read_all") | not)' "$D/json"
    done
}

@test "HDF5 from Fortran, with both implementations" {
    for mpi in mpich openmpi; do
        check fortran '' write_all $((RANKS * 1000 * 4))
    done
}

@test "NetCDF-4, collective and independent" {
    mpi=openmpi
    check netcdf collective read_all $((RANKS * 8 * 50 * 4))
    check netcdf independent read $((RANKS * 8 * 50 * 4))
}

@test "PnetCDF, collective and independent, with requests that it combines" {
    mpi=openmpi
    check pnetcdf collective read_all $((RANKS * 8 * 50 * 4)) write_all $((RANKS * 8 * 50 * 4))
    check pnetcdf independent read $((RANKS * 8 * 50 * 4))
}

@test "the same programs without the interposition library are counted alike" {
    for mpi in mpich openmpi; do
        cat "$D/without.$mpi"
        count "$(cat "$D/without.$mpi")"
        [ ! -e "$D/truth" ]
        diff <(summed < "$D/truth.$mpi") <(counted "$D/json")
        is_complete
    done
}
