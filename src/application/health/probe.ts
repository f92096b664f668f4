import type { CommandOutcome } from '../../domain/outside/engine.ts';
import type { Container } from '../../domain/container/container.ts';
import { probeTitle, type HealthProbe } from '../../domain/settings/values/label-values.ts';
import { hideSecrets } from '../../domain/text/hidden-secrets.ts';
import type { Outside, ProbeResult } from '../../domain/outside/outside.ts';
import { printable } from '../../domain/text/printable.ts';
import { addressIn, probeRoute, type ProbeRoute } from '../../domain/processes.ts';

/** Why a probe has failed this time, as a clause. Undefined: it has passed. */
type ProbeFailure = string | undefined;

/**
 * Why a container's probe cannot be reached from this process. Undefined if it can, and for a container without a
 * probe.
 */
export async function whyNotAskable(
  outside: Outside,
  probe: HealthProbe,
  container: Container,
  signal?: AbortSignal,
): Promise<{ readonly why: string; readonly remedy: string } | undefined> {
  if (probe.kind === 'none' || probe.kind === 'exec') return undefined;
  const { route } = await findRoute(outside, container, signal);
  return route.kind === 'none' ? route : undefined;
}

/** Asks once, for `timeoutMs` at most. Throws the signal's reason after an abort. */
export async function askProbe(
  outside: Outside,
  probe: HealthProbe,
  container: Container,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<ProbeFailure> {
  switch (probe.kind) {
    case 'none':
      return undefined;
    case 'exec': {
      const order = { command: ['sh', '-c', probe.command], environment: [], user: undefined };
      const limited = { ...order, timeoutMs: Math.min(timeoutMs, maxExecMs) };
      const outcome = await outside.engine.runCommand(container.id, limited, signal);
      return whyNotEnded(outcome, container);
    }
    case 'http':
    case 'tcp': {
      const { holder, route } = await findRoute(outside, container, signal);
      const address = addressOf(holder, route);
      if (address === undefined) return 'it has no address';
      const question = { address, port: probe.port, timeoutMs: Math.min(timeoutMs, maxAskMs) };
      return whyNotAnswered(
        await outside.prober.probe(probe.kind === 'tcp' ? question : { ...question, path: probe.path }, signal),
      );
    }
  }
}

/** The failed probe, as the subject of a reason: `health probe http://:8080/healthz`. */
export function titleOfProbe(probe: HealthProbe): string {
  return `health probe ${probeTitle(probe)}`;
}

/** Far longer than a healthy answer takes. */
const maxAskMs = 5000;

/** A command takes time to start. One that hangs keeps running in the container. */
const maxExecMs = 30_000;

function whyNotAnswered(answer: ProbeResult): ProbeFailure {
  switch (answer.kind) {
    case 'accepted':
      return undefined;
    case 'status':
      // Kubernetes has the same rule:
      // https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
      return answer.status >= 200 && answer.status < 400 ? undefined : `it answered with status ${answer.status}`;
    case 'silent':
      return answer.reason;
  }
}

function whyNotEnded(outcome: CommandOutcome, { settings: { Config } }: Container): ProbeFailure {
  switch (outcome.kind) {
    case 'ended': {
      if (outcome.exitCode === 0) return undefined;
      const output = hideSecrets(outcome.output.slice(-maxOutput), Config.Env ?? []).trim();
      return `the command ended with code ${outcome.exitCode}${output === '' ? '' : ` (${printable(output, maxWords)})`}`;
    }
    case 'timed-out':
      return 'the command did not end in time';
    case 'refused':
      return `the command could not be run: ${outcome.message}`;
    case 'unknown':
      return `the command may or may not have been run: ${outcome.message}`;
  }
}

const maxOutput = 4096;

const maxWords = 300;

type FoundRoute = { readonly holder: Container; readonly route: ProbeRoute };

/** The route from this process to the container whose network the probed container uses. */
async function findRoute(outside: Outside, container: Container, signal?: AbortSignal): Promise<FoundRoute> {
  const { engine, instance } = outside;
  const [{ containerReach }, networks, holder, self] = await Promise.all([
    engine.info(signal),
    engine.listNetworks(signal),
    holderOfNetwork(outside, container, signal),
    instance.containerId === undefined ? undefined : engine.inspectContainer(instance.containerId, signal),
  ]);
  const own = self && (await holderOfNetwork(outside, self, signal));
  const route = probeRoute(holder, {
    own,
    isElsewhere: instance.containerId !== undefined && own === undefined,
    reach: containerReach,
    drivers: new Map(networks.map(({ name, driver }) => [name, driver])),
  });
  return { holder, route };
}

/** The container itself, or the one whose network it shares. */
async function holderOfNetwork({ engine }: Outside, container: Container, signal?: AbortSignal): Promise<Container> {
  let holder = container;
  for (let steps = 0; steps < maxSteps; steps += 1) {
    const target = /^container:(.+)$/.exec(holder.settings.HostConfig.NetworkMode ?? '')?.[1];
    const next = target === undefined ? undefined : await engine.inspectContainer(target, signal);
    if (next === undefined) break;
    holder = next;
  }
  return holder;
}

/** Engines allow chains of shared networks. Longer chains are not in use. */
const maxSteps = 4;

function addressOf(holder: Container, route: ProbeRoute): string | undefined {
  if (route.kind === 'none') return undefined;
  return route.kind === 'loopback' ? '127.0.0.1' : addressIn(holder, route.names);
}
