#!/bin/sh
# `sh scripts/image-tools.sh FOLDER`: GNU cp, find and what else a copy of data needs, as a tree for the image of
# Upkeep. busybox loses attributes and access lists without an error. On a base without apk the folder stays empty:
# Debian has GNU's tools.
#
# TARGETARCH and TARGETVARIANT of BuildKit name the platform; by default it is this one. Nothing of that platform is
# run. A library that the base has is left out.
set -eu
out=$1
mkdir -p "$out/usr/local/bin" "$out/usr/local/lib"

if command -v apk >/dev/null; then
  case "${TARGETARCH:-}${TARGETVARIANT:+/$TARGETVARIANT}" in
    '') arch=$(apk --print-arch) ;;
    amd64*) arch=x86_64 ;;
    arm64*) arch=aarch64 ;;
    arm/v6) arch=armhf ;;
    arm*) arch=armv7 ;;
    386*) arch=x86 ;;
    *) arch=$TARGETARCH ;;
  esac
  root=$(mktemp -d)
  mkdir -p "$root/etc/apk/keys"
  cp /etc/apk/repositories "$root/etc/apk/"
  # The keys of other platforms are in folders of their own.
  find /etc/apk/keys /usr/share/apk/keys -name '*.pub' -exec cp {} "$root/etc/apk/keys/" \;
  apk add --root "$root" --initdb --arch "$arch" --no-cache --no-scripts coreutils findutils

  for tool in cp df du find head ln mkdir rm stat sync; do
    path=$(find "$root/bin" "$root/usr/bin" -name "$tool" 2>/dev/null | head -n 1)
    # All tools of coreutils are links to one program.
    program=$(readlink "$path" || echo "$tool")
    program=${program##*/}
    [ "$program" = "$tool" ] || ln -s "$program" "$out/usr/local/bin/$tool"
    [ -e "$out/usr/local/bin/$program" ] ||
      cp "$(find "$root/bin" "$root/usr/bin" -name "$program" -type f | head -n 1)" "$out/usr/local/bin/$program"
  done
  find "$root/lib" "$root/usr/lib" -name 'lib*.so.*' 2>/dev/null | while read -r library; do
    name=${library##*/}
    if [ ! -e "/lib/$name" ] && [ ! -e "/usr/lib/$name" ]; then cp -P "$library" "$out/usr/local/lib/"; fi
  done
  rm -r "$root"
fi

# The same packages make the same layer.
find "$out" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-1704067200}" {} +
