import type { Pushed } from '../registry/push.ts';

/** The id that this lab's engine gives to an image that was pushed for one platform. */
export function imageIdOf({ digest, configDigest }: Pushed): string {
  return hasContainerdStore ? digest : configDigest;
}

/** Docker's containerd image store names images by their manifest instead of their config. */
export const hasContainerdStore = process.env['LAB_ENGINE']?.endsWith('-containerd') ?? false;
