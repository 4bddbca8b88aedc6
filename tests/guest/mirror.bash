# SPDX-License-Identifier: GPL-2.0-or-later
# Where kernels and releases come from and go to. Sourced.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/jobio

die() {
    echo "guest: $*" >&2
    exit 125
}

# The suite's sources, made of the host's own: the same mirrors, the suite's name for the host's.
write_sources() {
    local suite=$1 own uri release
    own=$(. /etc/os-release && echo "$VERSION_CODENAME")
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
        'Created-By: Packages' 'Component: main' | sort -u | while read -r uri release; do
        case $release in
            "$own" | "$own-updates" | "$own-security")
                echo "deb $uri $suite${release#"$own"} main" ;;
        esac
    done
}
