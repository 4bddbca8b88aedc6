# SPDX-License-Identifier: GPL-2.0-or-later
# The sources and the cache of kernels and releases. Sourced.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/jobio

die() {
    echo "guest: $*" >&2
    exit 125
}

# The apt sources of a suite: those of the host with the suite's name.
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
