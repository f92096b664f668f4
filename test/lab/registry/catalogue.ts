import type { ImageConfig, ImageSpec } from './image.ts';

const ms = 1_000_000;

/** A web server on port 8080 that answers with its version, exits on SIGTERM, and has the labels of a good image. */
export function webServer(version: string, config: ImageConfig = {}): ImageSpec {
  return {
    config: {
      Cmd: ['sh', '-c', `trap 'exit 0' TERM; echo ${version} >/tmp/index.html; httpd -f -h /tmp -p 8080 & wait`],
      Env: ['PATH=/bin', `APP_VERSION=${version}`],
      ExposedPorts: { '8080/tcp': {} },
      Labels: {
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.source': 'https://example.test/app',
      },
      ...config,
    },
  };
}

/**
 * Busybox's wget crashes with its timeout option, so `-T` is not used. Two probes in a row took longer than their two
 * seconds on a busy machine.
 */
const answersItself = healthcheck('wget -q -O - http://127.0.0.1:8080/ >/dev/null', { Retries: 20 });

function healthcheck(command: string, more: { readonly StartPeriod?: number; readonly Retries?: number } = {}): object {
  return { Healthcheck: { Test: ['CMD-SHELL', command], Interval: 200 * ms, Timeout: 2000 * ms, Retries: 2, ...more } };
}

/** Images by tag. Each has one behaviour that an updater must handle. */
export const catalogue = {
  /** Good, with a health check that passes at the first probe. */
  v1: webServer('v1', answersItself),
  v2: webServer('v2', answersItself),
  /** Good, without a health check. */
  'plain-v1': webServer('v1'),
  'plain-v2': webServer('v2'),
  /** Exits at once with code 3. */
  crash: webServer('crash', { Cmd: ['sh', '-c', 'echo boom >&2; exit 3'] }),
  /** Exits with code 4 after two seconds. */
  'crash-later': webServer('crash-later', { Cmd: ['sh', '-c', 'sleep 2; echo late >&2; exit 4'] }),
  /** Its command does not exist: the engine refuses the start. */
  unstartable: webServer('unstartable', { Cmd: ['/bin/nothing-here'] }),
  /** Runs, and every health probe fails. */
  sick: webServer('sick', healthcheck('echo sick; exit 1')),
  /** Healthy after one to two seconds; the probes before that fail. */
  slow: webServer(
    'slow',
    healthcheck('test -e /tmp/since || touch /tmp/since; test $(($(date +%s) - $(date -r /tmp/since +%s))) -ge 2', {
      StartPeriod: 20_000 * ms,
    }),
  ),
  /** Ignores SIGTERM. */
  deaf: webServer('deaf', { Cmd: ['sh', '-c', "trap '' TERM; while :; do sleep 1; done"] }),
  /** Every default that a container inherits differs from that of v1. */
  'other-defaults': {
    config: {
      Entrypoint: ['sh', '-c'],
      Cmd: ['exec sleep 1000000'],
      Env: ['PATH=/bin:/tmp', 'APP_VERSION=other', 'NEW=1'],
      ExposedPorts: { '9090/tcp': {} },
      Labels: { 'org.opencontainers.image.version': 'other', 'com.example.new': 'yes' },
      Volumes: { '/www': {} },
      User: 'app',
      WorkingDir: '/tmp',
      StopSignal: 'SIGKILL',
      Healthcheck: { Test: ['CMD', 'true'], Interval: 300 * ms, Retries: 5 },
    },
  },
  /** Declares an anonymous volume. */
  'volume-v1': webServer('v1', { Volumes: { '/data': {} } }),
  'volume-v2': webServer('v2', { Volumes: { '/data': {} } }),
  /** Without any label. */
  'unlabelled-v1': { config: { ...webServer('v1').config, Labels: {} } },
  'unlabelled-v2': { config: { ...webServer('v2').config, Labels: {} } },
  /** Copies data for Upkeep. */
  'data-helper': { empty: true, hasTools: true, config: { Cmd: ['sh'] } },
  'data-helper-without-sync': { empty: true, hasTools: 'whose sync does nothing', config: { Cmd: ['sh'] } },
  'data-helper-with-slow-sync': { empty: true, hasTools: 'whose sync takes three seconds', config: { Cmd: ['sh'] } },
  /** Has no command and no environment. */
  bare: { config: {} },
  oci: { ...webServer('oci'), format: 'oci', annotations: { 'org.opencontainers.image.revision': 'abc' } },
} as const satisfies Readonly<Record<string, ImageSpec>>;
