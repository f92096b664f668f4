import type { ImageSpec } from '../../lab/registry/image.ts';

const idle = "trap 'exit 0' TERM INT; sleep 1000 & wait";
const second = 1_000_000_000;

/** Two images that differ in every default that a container inherits. */
export const images = {
  one: {
    config: {
      Entrypoint: ['sh', '-c'],
      Cmd: [idle],
      Env: ['PATH=/bin', 'SHARED=one', 'ONLY_ONE=1'],
      Labels: { 'com.example.shared': 'one', 'com.example.one': '1' },
      ExposedPorts: { '8080/tcp': {}, '8081/tcp': {} },
      Volumes: { '/data': {}, '/one': {} },
      User: 'root',
      WorkingDir: '/tmp',
      StopSignal: 'SIGTERM',
      Healthcheck: { Test: ['CMD-SHELL', 'true'], Interval: 60 * second, Timeout: 2 * second, Retries: 2 },
    },
  },
  two: {
    config: {
      Entrypoint: ['sh', '-e', '-c'],
      Cmd: [`${idle} `],
      Env: ['PATH=/bin:/tmp', 'SHARED=two', 'ONLY_TWO=1'],
      Labels: { 'com.example.shared': 'two', 'com.example.two': '1' },
      ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
      Volumes: { '/data': {}, '/two': {} },
      User: 'app',
      WorkingDir: '/etc',
      StopSignal: 'SIGINT',
      Healthcheck: {
        Test: ['CMD', 'true'],
        Interval: 90 * second,
        Timeout: 3 * second,
        StartPeriod: second,
        Retries: 5,
      },
    },
  },
} as const satisfies Readonly<Record<string, ImageSpec>>;

export type ImageName = keyof typeof images;

export const idleCommand = ['sh', '-c', idle];
