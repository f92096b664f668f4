import type { Container } from '../../container.ts';

/** Whether it uses the network of another container (`container:<id>`). */
export function sharesNetwork(container: Container): boolean {
  return modeOf(container).startsWith('container:');
}

export function hasHostNetwork(container: Container): boolean {
  return modeOf(container) === 'host';
}

/** Whether the engine connects it to networks with endpoints that can be configured. */
export function hasEndpoints(container: Container): boolean {
  const { Config } = container.settings;
  if (Config['NetworkDisabled'] === true || sharesNetwork(container)) return false;
  return !hasHostNetwork(container) && modeOf(container) !== 'none';
}

/** The name or id of the network that the container was created in; `bridge` for the engine's default. */
export function mainNetwork(container: Container): string {
  const mode = modeOf(container);
  return mode === '' || mode === 'default' ? defaultBridge : mode;
}

/** Whether the container was created in this network, which its mode gives by name or id. */
export function isMainNetwork(container: Container, name: string, id = ''): boolean {
  const main = mainNetwork(container);
  return main === name || (/^[0-9a-f]{12,64}$/.test(main) && id.startsWith(main));
}

/**
 * This network has no aliases and no fixed addresses:
 * https://docs.docker.com/engine/network/drivers/bridge/#use-the-default-bridge-network
 */
export const defaultBridge = 'bridge';

function modeOf({ settings }: Container): string {
  return settings.HostConfig.NetworkMode ?? '';
}
