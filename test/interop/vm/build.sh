#!/bin/bash
# Build the image of the test's virtual machine from Debian packages: kernel with
# rdma_rxe, rdma-core, perftest, rcops. Run as root.
# usage: build.sh OUTDIR [SUITE]
# Needs mmdebstrap, kmod, cpio, gcc, libibverbs-dev.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
suite=${2:-bookworm}
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | head -n 1)}
root=$out/root
mkdir -p "$out"
rm -rf "$root"
# Packages are only unpacked; their scripts do not run.
mmdebstrap --variant=extract --mode=root --aptopt='APT::Install-Recommends "false"' \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
	--include=bash,coreutils,util-linux,mount,grep,sed,gawk,linux-image-amd64,kmod,iproute2,rdma-core,ibverbs-providers,ibverbs-utils,perftest,socat,procps,libc-bin,usr-is-merged \
	"$suite" "$root" "$mirror"
kernel=$(ls "$root/lib/modules" | head -n 1)
cp "$root/boot/vmlinuz-$kernel" "$out/vmlinuz"
# Of the modules, those that are used and what they need.
modules=$root/usr/lib/modules/$kernel
depmod -b "$root" "$kernel"
keep=$(mktemp -d)
for m in crc32_generic crc32_pclmul crc32c_generic virtio_pci virtio_net rdma_rxe rdma_ucm ib_uverbs rdma_cm sch_netem virtio_rng; do
	modprobe -d "$root" -S "$kernel" --show-depends "$m" 2>/dev/null || true
done | awk '$1 == "insmod" { print $2 }' | sed "s#.*/modules/$kernel/##" | sort -u > "$keep/list"
(cd "$modules" && cp --parents $(cat "$keep/list") "$keep/" && cp modules.builtin modules.order "$keep/")
rm -rf "$modules" "$keep/list"
mv "$keep" "$modules"
chmod 755 "$modules"
depmod -b "$root" "$kernel"
(cd "$root" && rm -rf boot var/cache var/lib/apt usr/lib/systemd usr/share/{doc,man,locale,i18n,perl,perl5,info,lintian,zoneinfo} usr/lib/x86_64-linux-gnu/{perl,perl-base,gconv})
chroot "$root" /sbin/ldconfig
ln -sf bash "$root/bin/sh"
printf 'root:x:0:0:root:/root:/bin/bash\n' > "$root/etc/passwd"
printf 'root:x:0:\n' > "$root/etc/group"
gcc -O2 -Wall -o "$root/usr/bin/rcops" "$here/rcops.c" -libverbs
install -m 755 "$here/init" "$root/init"
(cd "$root" && find . -print0 | cpio --null -o -H newc --quiet) > "$out/initrd.cpio"
rm -rf "$root"
