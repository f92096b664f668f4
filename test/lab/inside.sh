#!/bin/bash
# inside.sh DIR COMMAND...: the first process of the lab's namespaces. Makes the machine look empty and offline, runs
# COMMAND, and stays to reap orphans. Its mounts and processes are invisible from outside, and end with it.
set -euo pipefail
dir=$1
shift

ip link set lo up
# Docker treats every 127.x registry as "insecure"; this address is for the tests of TLS.
ip addr add 198.18.0.1/32 dev lo
echo 1 >/proc/sys/net/ipv4/ip_forward

hosts=$(mktemp -p "$dir")
printf '%s\n' "127.0.0.1 localhost $(hostname)" "::1 localhost" "198.18.0.1 secure.test" \
  "127.0.0.1 registry.test registry-1.docker.io auth.docker.io index.docker.io ghcr.io quay.io lscr.io" >"$hosts"
# No server listens there, so a name that is not in the file above fails at once instead of after a timeout.
resolv=$(mktemp -p "$dir")
echo "nameserver 127.0.0.1" >"$resolv"
chmod 644 "$hosts" "$resolv"

# A private /run hides the sockets of an engine that this machine may have, and the lock of its iptables.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/docker /run/containerd /run/netns /run/lock /etc/docker
mount -t tmpfs tmpfs /etc/docker
[ -z "${LAB_DAEMON_JSON:-}" ] || echo "$LAB_DAEMON_JSON" >/etc/docker/daemon.json
for file in hosts resolv; do
  target=$(readlink -m "/etc/$([ $file = hosts ] && echo hosts || echo resolv.conf)")
  [ -e "$target" ] || { mkdir -p "$(dirname "$target")"; : >"$target"; }
  mount --bind "${!file}" "$target"
done
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
if [ -n "${LAB_PODMAN_ROOT:-}" ]; then
  mount --bind "$LAB_PODMAN_ROOT" "$LAB_PODMAN_ROOT" # runc needs a mount point as its root
  for part in proc sys dev run tmp etc/hosts etc/resolv.conf; do mount --rbind "/$part" "$LAB_PODMAN_ROOT/$part"; done
fi

unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH HTTP_PROXY HTTPS_PROXY http_proxy https_proxy
export DOCKER_CONFIG=$dir/docker-config
mkdir -p "$DOCKER_CONFIG"
status=0
"$@" || status=$?
exit $status
