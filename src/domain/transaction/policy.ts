import type { RestartPolicy } from '../container/container-settings.ts';

/**
 * The policy of an old container while its successor is unproven. Without live-restore, `always` is the one policy that
 * survives every crash of an engine. With live-restore the engine would start a parked `always` container beside the
 * survivor, so the policy is `no`.
 */
export function policyWhileUnproven(policy: RestartPolicy, liveRestore: boolean): RestartPolicy {
  const never = policy.Name === '' || policy.Name === 'no';
  if (never) return policy;
  if (liveRestore) return policy.Name === 'unless-stopped' ? policy : noRestart;
  return always;
}

/** An engine stores an omitted policy as empty or as `no`. Both mean the same. */
export function samePolicy(one: RestartPolicy, other: RestartPolicy): boolean {
  const name = (policy: RestartPolicy) => (policy.Name === '' ? 'no' : policy.Name);
  const retries = (policy: RestartPolicy) => (policy.Name === 'on-failure' ? policy.MaximumRetryCount : 0);
  return name(one) === name(other) && retries(one) === retries(other);
}

export const noRestart: RestartPolicy = { Name: 'no', MaximumRetryCount: 0 };

const always: RestartPolicy = { Name: 'always', MaximumRetryCount: 0 };
