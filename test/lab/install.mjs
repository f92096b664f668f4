// Installs missing requirements of the tests: Debian's own packages, through apt, as root.
// No installed daemon is started: Debian asks /usr/sbin/policy-rc.d before it starts one.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { accessSync, chmodSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';

/** Requirements of the lab: a program by name or a file by path, with its Debian package. */
const labNeeds = [
  ['dockerd', 'docker.io'],
  ['docker-registry', 'docker-registry'],
  ['/usr/bin/busybox', 'busybox-static'],
  ['iptables', 'iptables'],
  ['ip', 'iproute2'],
  ['ps', 'procps'],
  ['unshare', 'util-linux'],
  ['setpriv', 'util-linux'],
  ['openssl', 'openssl'],
  ['update-ca-certificates', 'ca-certificates'],
  ['curl', 'curl'],
  ['zsh', 'zsh'],
  ['fish', 'fish'],
  ['promtool', 'prometheus'],
  ['ssh', 'openssh-client'],
  ['/usr/sbin/sshd', 'openssh-server'],
  ['rootlesskit', 'rootlesskit'],
  ['slirp4netns', 'slirp4netns'],
  ['newuidmap', 'uidmap'],
];

/** runc, because crun refuses the mixed cgroups that the lab may run in. */
const podmanNeeds = [
  ['podman', 'podman'],
  ['runc', 'runc'],
  ['/usr/lib/podman/netavark', 'netavark'],
  ['/usr/lib/podman/aardvark-dns', 'aardvark-dns'],
];

const browserNeeds = [
  ['chromium', 'chromium'],
  ['/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf', 'fonts-dejavu-core'],
];

/** Servers that receive notifications. */
const receiverNeeds = [
  ['mosquitto', 'mosquitto'],
  ['mosquitto_sub', 'mosquitto-clients'],
  ['mosquitto_passwd', 'mosquitto'],
  ['/usr/bin/python3', 'python3'],
  ['/usr/lib/python3/dist-packages/aiosmtpd/smtp.py', 'python3-aiosmtpd'],
  ['/usr/lib/dovecot/submission-login', 'dovecot-submissiond'],
];

/** Reverse proxies in front of the page. */
const proxyNeeds = [
  ...browserNeeds,
  ['nginx', 'nginx-light'],
  ['caddy', 'caddy'],
  ['haproxy', 'haproxy'],
  ['apache2', 'apache2'],
  ['openssl', 'openssl'],
];

/** A maker of API clients, and the HTTP client of others. */
const clientNeeds = [
  ['/usr/share/perl5/OpenAPI/Client.pm', 'libopenapi-client-perl'],
  ['/usr/lib/python3/dist-packages/httpx/__init__.py', 'python3-httpx'],
];

const benchNeeds = [
  ['wrk', 'wrk'],
  ['mkfs.xfs', 'xfsprogs'],
  ['mkfs.btrfs', 'btrfs-progs'],
];

/** Programs that the examples configure, or use. */
const exampleNeeds = [
  ['haproxy', 'haproxy'],
  ['caddy', 'caddy'],
  ['jq', 'jq'],
];

const aptOptions = [
  '-qq',
  '--yes',
  '--no-install-recommends',
  ...['DPkg::Lock::Timeout=300', 'Acquire::Retries=3', 'Dpkg::Use-Pty=0'].flatMap((option) => ['-o', option]),
  ...['--force-confold', '--force-unsafe-io'].flatMap((option) => ['-o', `Dpkg::Options::=${option}`]),
];

const policyFile = '/usr/sbin/policy-rc.d';

/** Undefined if the lab can run here; otherwise the reason, as a message. */
export function installLab({ log = () => {} } = {}) {
  if (process.platform !== 'linux') return 'the lab needs Linux';
  if (process.getuid?.() !== 0) return 'the lab needs root';
  const failure = install(labNeeds, log);
  if (failure) return failure;
  const probe = spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'true'], { encoding: 'utf8' });
  return probe.status === 0 ? undefined : `no private namespaces here: ${probe.stderr.trim()}`;
}

/** The same for a lab with Podman. */
export function installPodman({ log = () => {} } = {}) {
  return install(podmanNeeds, log);
}

/** The same for the tests in a browser. */
export function installBrowser({ log = () => {} } = {}) {
  if (process.platform !== 'linux') return 'no browser is looked for but on Linux';
  return install(browserNeeds, log);
}

/** The same for the tests that send mails and MQTT. */
export function installReceivers({ log = () => {} } = {}) {
  return install(receiverNeeds, log);
}

/** The same for the tests behind reverse proxies. */
export function installProxies({ log = () => {} } = {}) {
  if (process.platform !== 'linux') return 'reverse proxies are looked for on Linux only';
  return install(proxyNeeds, log);
}

/** The same for makers of API clients: packages of npm and of Debian. */
export function installClients({ log = () => {} } = {}) {
  const folder = fileURLToPath(new URL('../clients/', import.meta.url));
  if (!existsSync(`${folder}node_modules/openapi-typescript`)) {
    log('installing the generator of API clients');
    const result = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--prefix', folder], { encoding: 'utf8' });
    if (result.status !== 0) return `npm could not install it: ${(result.stderr ?? '').slice(-500)}`;
  }
  return install(clientNeeds, log);
}

/** The same for a client that is faster than the servers. */
export function installBench({ log = () => {} } = {}) {
  return install(benchNeeds, log);
}

/** The same for the tests of the examples. */
export function installExamples({ log = () => {} } = {}) {
  return install(exampleNeeds, log);
}

const folderOfArch = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

/** For LD_PRELOAD, to change the time of a process. */
export const faketimeLibrary = `/usr/lib/${folderOfArch[process.arch] ?? process.arch}/faketime/libfaketime.so.1`;

/** The same for libfaketime. */
export function installFaketime({ log = () => {} } = {}) {
  return install([[faketimeLibrary, 'libfaketime']], log);
}

/** Undefined if everything is available now; otherwise the reason. */
function install(needs, log) {
  const missing = missingPackages(needs);
  if (missing.length === 0) return undefined;
  if (process.getuid?.() !== 0 || find('apt-get') === undefined)
    return `missing here, and only root can install it, by apt: ${missing.join(', ')}`;
  log(`installing ${missing.join(', ')}`);
  const failure = withoutStartingDaemons(() => aptInstall(missing));
  if (failure) return `apt could not install ${missing.join(', ')}: ${failure}`;
  const still = missingPackages(needs);
  return still.length > 0 ? `still missing after the installation: ${still.join(', ')}` : undefined;
}

function missingPackages(needs) {
  return [...new Set(needs.filter(([name]) => !find(name)).map(([, debianPackage]) => debianPackage))];
}

function find(name) {
  const folders = `${process.env.PATH ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`.split(':');
  const paths = name.startsWith('/') ? [name] : folders.map((folder) => `${folder}/${name}`);
  return paths.find((path) => {
    try {
      accessSync(path, name.startsWith('/') ? constants.R_OK : constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The package lists may be stale or absent, so the second attempt begins by fetching them. */
function aptInstall(packages) {
  const install = ['install', ...aptOptions, ...packages];
  if (apt(install) === undefined) return undefined;
  return apt(['update', '-qq', '-o', 'Acquire::Retries=3', '-o', 'DPkg::Lock::Timeout=300']) ?? apt(install);
}

function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' };
  const result = spawnSync('apt-get', args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  if (result.status === 0) return undefined;
  return (result.stderr || result.stdout || String(result.error)).trim().split('\n').slice(-5).join(' / ');
}

function withoutStartingDaemons(work) {
  if (existsSync(policyFile)) return work();
  writeFileSync(policyFile, '#!/bin/sh\nexit 101\n');
  chmodSync(policyFile, 0o755);
  try {
    return work();
  } finally {
    rmSync(policyFile, { force: true });
  }
}
