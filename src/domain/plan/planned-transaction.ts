import type { DesiredEndState } from '../settings/effective-settings.ts';
import type { ComposeCondition } from '../container/lookup.ts';
import type { Container } from '../container/container.ts';
import type { VerifiedImage } from '../outside/registry.ts';
import type { Digest } from '../image/image-reference.ts';

/** One group of containers that moves together or not at all. */
export type PlannedTransaction = {
  /** The id of the leader's container (the first member): unique in the plan. */
  readonly id: string;
  /** Dependencies come first. The members of a cycle are sorted by name. */
  readonly members: readonly PlannedMember[];
  /** Ids of transactions that must succeed first, because a container here depends on one there. */
  readonly after: readonly string[];
  /** Compose conditions of its members on other containers. */
  readonly requires: readonly Requirement[];
};

/** By name, because the container may have been replaced by then. */
export type Requirement = { readonly name: string; readonly condition: ComposeCondition };

export type PlannedMember = NewImage & {
  readonly container: Container;
  /**
   * `stale`: it has a newer image. `linked`: same image, re-created because of a hard dependency on a replaced member.
   */
  readonly cause: 'stale' | 'linked';
  /** Ids of the members that it has a hard dependency on: shared namespaces, legacy links, `volumes_from`. */
  readonly hardDependencies: readonly string[];
  /** Others use its volumes (`volumes_from`), and must find the same ones in its successor. */
  readonly lendsVolumes?: true;
  readonly desiredEndState: DesiredEndState;
  /** Ids of the members that must be proven before this one starts, as with compose's `service_healthy`. */
  readonly waitsFor: readonly string[];
};

/** The image that a container gets. */
export type NewImage = {
  /**
   * `Config.Image` of the new container, such as `nginx:1.27`: the old container's, verbatim (from an inspection if the
   * list showed a bare id), unless the update changes the tag.
   */
  readonly reference: string;
  /** `Config.Image` of the old container, verbatim. Present only if the update changes the tag. */
  readonly formerReference?: string;
  /** Digest to pull. Undefined when the engine has the image (`linked`, or `no-pull`). */
  readonly digest: Digest | undefined;
  /** The image of that digest whose signature was checked: no other may run. Absent: no signature is needed. */
  readonly verified?: VerifiedImage;
  /** An image by its id, preferred if the engine has it. */
  readonly imageId?: string;
  /** Present: only that image in the engine may be used, because nobody has verified a signature of the digest. */
  readonly mustBeHeld?: true;
};

export type StaleContainer = NewImage & {
  readonly id: string;
  readonly name: string;
  /** Why it waits though it is stale; absent: it does not wait. */
  readonly waitsBecause?: string;
};
