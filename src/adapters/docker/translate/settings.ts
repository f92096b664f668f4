import type { Image } from '../../../domain/container/container.ts';
import type {
  ContainerConfig,
  ContainerSettings,
  Endpoint,
  Healthcheck,
  HostConfig,
  MountPoint,
} from '../../../domain/container/container-settings.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { fields, isTextMap, isTexts, text } from '../transport/json-fields.ts';
import { isJsonObject, type JsonObject, arrayOf } from '../../../domain/text/json-value.ts';

/**
 * The parts of an inspection that make a successor, unchanged: unknown fields stay. A known field with an unexpected
 * type is omitted and becomes an obstacle, because a successor would lose it.
 */
export function readSettings(inspected: JsonObject, obstacle?: string): ContainerSettings {
  const { Config, HostConfig: hostConfig, Mounts, NetworkSettings } = inspected;
  const networks = Object.entries(fields(fields(NetworkSettings)['Networks']));
  const whyNot = obstacle ?? unreadable(inspected);
  return {
    ...(whyNot !== undefined && { obstacle: whyNot }),
    Config: { ...readImageConfig(Config), Image: text(fields(Config)['Image']) },
    HostConfig: withoutMistyped<HostConfig>(hostConfig, hostConfigShapes),
    Mounts: arrayOf(Mounts).filter(isMountPoint),
    Networks: Object.fromEntries(
      networks.map(([name, endpoint]) => [name, withoutMistyped<Endpoint>(endpoint, endpointShapes)]),
    ),
  };
}

function unreadable({ Config, HostConfig: hostConfig, Mounts, NetworkSettings }: JsonObject): string | undefined {
  const networks = Object.entries(fields(fields(NetworkSettings)['Networks']));
  const [odd] = [
    ...mistypedFields(Config, configShapes).map((field) => `Config.${field}`),
    ...mistypedFields(hostConfig, hostConfigShapes).map((field) => `HostConfig.${field}`),
    ...arrayOf(Mounts).flatMap((mount, index) => (isMountPoint(mount) ? [] : [`Mounts[${index}]`])),
    ...networks.flatMap(([name, endpoint]) =>
      mistypedFields(endpoint, endpointShapes).map((field) => `NetworkSettings.Networks.${name}.${field}`),
    ),
  ];
  return odd && `has a setting that cannot be read: ${quoted(odd, 100)} is not as the engine's API describes it`;
}

/** The `Config` of an image: https://github.com/opencontainers/image-spec/blob/main/config.md */
export function readImageConfig(config: unknown): Image['config'] {
  return withoutMistyped<Image['config']>(config, configShapes);
}

type TypeCheck = (value: unknown) => boolean;

/** A shape for every typed field of the domain. A forgotten field does not compile. */
type TypeChecks<T> = { readonly [Key in keyof T as string extends Key ? never : Key]-?: TypeCheck };

const isText: TypeCheck = (value) => typeof value === 'string';
const isNumber: TypeCheck = (value) => typeof value === 'number';
const isFlag: TypeCheck = (value) => typeof value === 'boolean';
const isTextsOrNull: TypeCheck = (value) => value === null || isTexts(value);
const isTextMapOrNull: TypeCheck = (value) => value === null || isTextMap(value);
const isObjectOrNull: TypeCheck = (value) => value === null || isJsonObject(value);
const isObjectsOrNull: TypeCheck = (value) => value === null || isListOf(isJsonObject)(value);
const isObjectMapOrNull: TypeCheck = (value) => value === null || isMapOf(isJsonObject)(value);
const isPortMapOrNull: TypeCheck = (value) =>
  value === null || isMapOf((bindings) => bindings === null || isListOf(isTextMap)(bindings))(value);

function isListOf(shape: TypeCheck): TypeCheck {
  return (value) => Array.isArray(value) && value.every(shape);
}

function isMapOf(shape: TypeCheck): TypeCheck {
  return (value) => isJsonObject(value) && Object.values(value).every(shape);
}

const healthcheckShapes: TypeChecks<Healthcheck> = {
  Test: isTextsOrNull,
  Interval: isNumber,
  Timeout: isNumber,
  StartPeriod: isNumber,
  StartInterval: isNumber,
  Retries: isNumber,
};

const restartPolicyShapes: TypeChecks<NonNullable<HostConfig['RestartPolicy']>> = {
  Name: isText,
  MaximumRetryCount: isNumber,
};

const configShapes: TypeChecks<ContainerConfig> = {
  Image: isText,
  Hostname: isText,
  Domainname: isText,
  User: isText,
  Env: isTextsOrNull,
  Cmd: isTextsOrNull,
  Entrypoint: isTextsOrNull,
  Labels: isTextMapOrNull,
  ExposedPorts: isObjectMapOrNull,
  Volumes: isObjectMapOrNull,
  Healthcheck: (value) => value === null || fits(value, healthcheckShapes),
  WorkingDir: isText,
  StopSignal: isText,
  StopTimeout: (value) => value === null || isNumber(value),
  MacAddress: isText,
};

const hostConfigShapes: TypeChecks<HostConfig> = {
  NetworkMode: isText,
  IpcMode: isText,
  PidMode: isText,
  UTSMode: isText,
  RestartPolicy: (value) => value === null || (fits(value, restartPolicyShapes) && isText(value['Name'])),
  AutoRemove: isFlag,
  Runtime: isText,
  Privileged: isFlag,
  Binds: isTextsOrNull,
  Mounts: isObjectsOrNull,
  VolumesFrom: isTextsOrNull,
  Links: isTextsOrNull,
  PortBindings: isPortMapOrNull,
  PublishAllPorts: isFlag,
};

const mountShapes: TypeChecks<MountPoint> = {
  Type: isText,
  Name: isText,
  Source: isText,
  Destination: isText,
  Mode: isText,
  RW: isFlag,
};

const endpointShapes: TypeChecks<Endpoint> = {
  NetworkID: isText,
  Aliases: isTextsOrNull,
  Links: isTextsOrNull,
  IPAMConfig: isObjectOrNull,
  DriverOpts: isTextMapOrNull,
  MacAddress: isText,
  GwPriority: isNumber,
};

function fits<T>(value: unknown, shapes: TypeChecks<T>): value is JsonObject {
  return (
    isJsonObject(value) &&
    Object.entries<TypeCheck>(shapes).every(([field, shape]) => value[field] === undefined || shape(value[field]))
  );
}

/** Fields with another type than the API documents. */
function mistypedFields<T>(value: unknown, shapes: TypeChecks<T>): readonly string[] {
  const all = fields(value);
  return Object.entries<TypeCheck>(shapes).flatMap(([field, shape]) =>
    all[field] === undefined || shape(all[field]) ? [] : [field],
  );
}

/** The same object if every field has its documented type, as with every known engine. */
function withoutMistyped<T>(value: unknown, shapes: TypeChecks<T>): T {
  const all = fields(value);
  if (fits(all, shapes)) return all as T;
  const odd = mistypedFields(value, shapes);
  return Object.fromEntries(Object.entries(all).filter(([field]) => !odd.includes(field))) as T;
}

function isMountPoint(value: unknown): value is MountPoint {
  return fits(value, mountShapes) && isText(value['Destination']);
}
