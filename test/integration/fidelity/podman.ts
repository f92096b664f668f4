/**
 * Shapes that Podman 4.3 refuses, or for which it does not report all the data that a successor needs: docs/engines.md.
 */
export function whyNotWithPodman(shape: string): string | undefined {
  return Object.entries(reasons).find(([, names]) => names.includes(shape))?.[0];
}

const reasons: Readonly<Record<string, readonly string[]>> = {
  'Podman has no legacy links': ['legacy links'],
  'Podman removes no container before those that share its namespaces': [
    'another container’s network',
    'another container’s IPC and processes',
  ],
  'Podman shows volumes of another container as its own': [
    'volumes from another by name, read-only',
    'volumes from another by id',
  ],
  'Podman shows ports that it chose as if they had been asked for': ['an ephemeral port', 'all ports'],
  'Podman does not tell of hardware addresses': ['a MAC address'],
  'Podman forgets the option z once it has been heeded': ['binds with modes'],
  'Podman shows times of a health check that is switched off, and an update is called off for them': [
    'Healthcheck NONE',
  ],
  'Podman does not create it in the lab': ['Init true', 'ulimits', 'log options', 'a range of ports'],
  'Podman does not tell of an address that was chosen through the API': [
    'a network with alias and address',
    'two networks',
  ],
};
