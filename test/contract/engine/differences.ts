import { hasContainerdStore } from '../../lab/engine/image-id.ts';
import { isPodman } from '../../lab/engine/podman.ts';

/**
 * Rows of the contract that an engine cannot fulfil, with the reason. Each either does not matter for an update, or is
 * handled elsewhere: docs/engines.md.
 */
export function whyNotHere(row: string): string | undefined {
  const found = Object.entries(differences).find(([, rows]) => rows.includes(row));
  return found?.[0];
}

const podmansOwn: Readonly<Record<string, readonly string[]>> = {
  'Podman lists in no order': [
    'listContainers() shows stopped containers too, newest first',
    'listContainers() finds containers by their ids, newest first, and leaves out those that are gone',
  ],
  'Podman lists names for ids of images whose tag has moved on': [
    'listContainers() shows a bare id for an image whose tag has moved on',
  ],
  'Podman does not list network modes': ['listContainers() tells what selection and staleness need'],
  'Podman tells of probes, and not of health': ['events() tells health, and nothing of the probes'],
  'Podman knows no networks "host" and "none"': [
    "listNetworks() shows the engine's own and a person's",
    "endpoints are none for the host's network but its name",
    "connectNetwork() is refused for networks and containers that do not exist, and for the host's network",
  ],
  'Podman puts variables and settings in an order or with defaults of its own': [
    'inspectContainer() keeps labels and variables in any script, and large ones',
    'createContainer(): what comes from the image settings that nobody asked for',
    'createContainer(): what comes from the image what was asked for comes first, the rest is added',
    "createContainer(): what comes from the image an entrypoint of one's own drops the image's command",
    'createContainer(): what comes from the image a health check takes from the image only what it leaves out',
    'createContainer(): what was asked for nothing: the engine shows its defaults',
    'createContainer(): what was asked for host settings stay as they are',
    'createContainer(): what was asked for named volumes and binds, with their modes',
  ],
  'Podman shows anonymous volumes as named binds': [
    'createContainer(): what comes from the image a volume for each path the image declares, named with 64 hex digits',
  ],
  'Podman has no legacy links': [
    'createContainer(): what was asked for legacy links follow the container, not the name',
  ],
  'Podman takes more, or refuses with 500': [
    'createContainer(): what it refuses the name "x": 400',
    'createContainer(): what it refuses the name "-begins-with-a-dash": 400',
    'createContainer(): what it refuses the name "with space": 400',
    'createContainer(): what it refuses the name "with/slash": 400',
    'createContainer(): what it refuses the name "ünïcode": 400',
    'createContainer(): what it refuses no command at all: 400',
    'createContainer(): what it refuses to restart what it is to remove: 400',
    'createContainer(): what it refuses the restart policy {"Name":"sometimes"}: 400',
    'createContainer(): what it refuses the restart policy {"Name":"always","MaximumRetryCount":2}: 400',
    'createContainer(): what it refuses volumes of a container that is gone: 400, and the name stays free',
    'createContainer(): what it refuses a process namespace of a container that is gone: 400; a network of one only at the start',
    "createContainer(): what it refuses a host name in another container's network: 400",
    "createContainer(): what it refuses a port to publish in another container's network: 400",
    "createContainer(): what it refuses an exposed port in another container's network: 400",
    'createContainer(): what it refuses several networks, below API 1.44',
    'createContainer(): what it refuses a platform that the image is not for: 404',
    'renameContainer() refuses its own name, a malformed one, and to rename nobody',
    'startContainer() is refused when the command does not exist, and the container says why',
    'startContainer() is refused while another holds the host port, and works once it is free',
    'startContainer() of a container that removes itself leaves nothing when it is refused',
    'stopContainer() is a noop for one that was never started, refused with 404 for none',
    'endpoints are refused a static address that another has, until that one stops',
    'endpoints on the default bridge may not have aliases',
    'endpoints of a network that is gone are refused at the start',
    'connectNetwork() of a created container takes the text for the name of a network that is still to be created',
    'runCommand() is refused with 409 where nothing runs, and with 404 where there is nothing',
  ],
  'Podman 4 cannot change a restart policy': [
    'updateRestartPolicy() sets {"Name":"no","MaximumRetryCount":0} on a running and on a stopped container',
    'updateRestartPolicy() sets {"Name":"always","MaximumRetryCount":0} on a running and on a stopped container',
    'updateRestartPolicy() sets {"Name":"unless-stopped","MaximumRetryCount":0} on a running and on a stopped container',
    'updateRestartPolicy() sets {"Name":"on-failure","MaximumRetryCount":5} on a running and on a stopped container',
    'updateRestartPolicy() with an empty name changes nothing',
    'updateRestartPolicy() refuses an unknown policy, a count that does not belong, and to update nobody',
    'updateRestartPolicy() refuses a policy for a container that removes itself: 409',
    'stopContainer() lets rename and update through while it lasts',
    'events() tells a change of the restart policy',
  ],
  'Podman does not prune the network of a stopped container': [
    'createNetwork() and connectNetwork() let a container start whose network was removed',
  ],
  'Podman queues a start behind a stop that is under way': ['stopContainer() goes on when the caller is gone'],
  'Podman restarts without a pause': [
    'restart policies always starts it again after any end; between two tries a start is a noop and a stop ends it',
  ],
  'Podman publishes ports that are not exposed': ['startContainer() does not publish a port that is not exposed'],
  'Podman starts the container whose network is shared, and does not remove it before those that share it': [
    "startContainer() joins another container's network only while that runs",
    'startContainer() never finds the network again of a container that was replaced',
  ],
  'Podman shows neither addresses nor hardware addresses that were asked for': [
    'endpoints show what was asked for, and an address only while the container runs',
    'endpoints keep the hardware address that was asked for',
    'connectNetwork() gives a created container a further endpoint, which it joins at its start',
  ],
  'Podman reports no layers during a pull': ['pullImage() tells its progress, up to all layers and all bytes'],
  'Podman forgets the digest of the old image of a moved tag': [
    'pullImage() moves the tag; the old image keeps its digest',
  ],
  'Podman keeps the digests of the index and of the manifest': [
    'pullImage() takes the image of its own platform out of an index, and keeps the digest of the index',
  ],
  'Podman does not tell of prunes': [
    'hasPruned() tells of a prune in that time, and of none before or after it',
    'hasPruned() waits for one that is still to come',
  ],
  'Podman makes a missing folder, and writes into the file system of a read-only container': [
    'readFiles() and writeFiles() are refused or empty for what does not exist, and beyond the size',
    'readFiles() and writeFiles() are refused for a container with a read-only file system',
  ],
  'Podman has events of its own': [
    "events() tells a container's life in order",
    'events() tells both names of a rename',
    'events() tells the signals of a stop',
    'events() tells of images: pull, tag, untag, delete',
    'pastEvents() tells whether someone asked for an end',
  ],
};

const containerdStores: Readonly<Record<string, readonly string[]>> = {
  'the containerd store names an untagged image by its digest, and forgets the digest of the old image of a moved tag':
    ['pullImage() by digest creates no tag', 'pullImage() moves the tag; the old image keeps its digest'],
  'the containerd store untags once less': ['events() tells of images: pull, tag, untag, delete'],
};

const differences = isPodman ? podmansOwn : hasContainerdStore ? containerdStores : {};
