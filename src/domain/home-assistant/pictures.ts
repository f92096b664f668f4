import { tryParseImageReference } from '../image/image-reference.ts';

/**
 * The picture of a container in Home Assistant: its own icon, else the one that Home Assistant has for the software.
 * Home Assistant's pages load icons of the second kind anyway, so no further host learns about the containers.
 */
export function pictureOf({ icon, image }: { readonly icon?: string; readonly image: string }): {
  readonly pictureUrl?: string;
} {
  if (icon !== undefined) return { pictureUrl: icon };
  const repository = tryParseImageReference(image)?.repository.toLowerCase() ?? '';
  const name = repository.split('/').at(-1) ?? '';
  const brand = brands.get(repository) ?? brands.get(name);
  return brand === undefined ? {} : { pictureUrl: `https://brands.home-assistant.io/_/${brand}/icon.png` };
}

/** Names of images whose software has an integration in Home Assistant: https://github.com/home-assistant/brands */
const brands: ReadonlyMap<string, string> = new Map([
  ['adguardhome', 'adguard'],
  ['deluge', 'deluge'],
  ['emby', 'emby'],
  ['embyserver', 'emby'],
  ['esphome', 'esphome'],
  ['eclipse-mosquitto', 'mqtt'],
  ['home-assistant', 'homeassistant'],
  ['homeassistant', 'homeassistant'],
  ['immich-server', 'immich'],
  ['influxdb', 'influxdb'],
  ['jellyfin', 'jellyfin'],
  ['lidarr', 'lidarr'],
  ['mealie', 'mealie'],
  ['minio', 'minio'],
  ['motioneye', 'motioneye'],
  ['netdata', 'netdata'],
  ['nextcloud', 'nextcloud'],
  ['nzbget', 'nzbget'],
  ['octoprint', 'octoprint'],
  ['ollama', 'ollama'],
  ['ombi', 'ombi'],
  ['overseerr', 'overseerr'],
  ['paperless-ngx', 'paperless_ngx'],
  ['pihole', 'pi_hole'],
  ['plex', 'plex'],
  ['pms-docker', 'plex'],
  ['portainer', 'portainer'],
  ['portainer-ce', 'portainer'],
  ['portainer-ee', 'portainer'],
  ['prometheus', 'prometheus'],
  ['qbittorrent', 'qbittorrent'],
  ['qbittorrent-nox', 'qbittorrent'],
  ['radarr', 'radarr'],
  ['sabnzbd', 'sabnzbd'],
  ['sonarr', 'sonarr'],
  ['syncthing', 'syncthing'],
  ['tautulli', 'tautulli'],
  ['traccar', 'traccar'],
  ['transmission', 'transmission'],
  ['unifi-network-application', 'unifi'],
  ['uptime-kuma', 'uptime_kuma'],
  ['zwave-js-ui', 'zwave_js'],
]);
