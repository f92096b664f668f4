import { samePolicy } from '../transaction/policy.ts';
import { removesItself } from '../transaction/auto-remove.ts';
import { isImageId } from '../check/container-reference.ts';
import type { Container } from '../container/container.ts';
import { sameRepository, tryParseImageReference } from '../image/image-reference.ts';
import type { Journal } from '../transaction/journal.ts';
import { isExcluded, labelValuesOf } from '../settings/effective-settings.ts';
import { isMarkOf } from '../transaction/transaction-mark.ts';
import {
  isAutoRemoveReplicaName,
  parseKeptName,
  parseTransactionName,
  type TransactionName,
} from '../transaction/transaction-names.ts';
import type { JournaledContainer, Remains } from './remains.ts';

/**
 * `over`: history without effect, not reported. Otherwise the reason why it is not confirmed, which follows the
 * carrier's name.
 */
type Verdict = 'believed' | 'over' | { readonly reason: string };

/** The verdict on one container with a journal, from the facts of the engine about it. */
export function judgeContainer(
  { container, journal }: JournaledContainer,
  { olds, unreadable, carriers, marks: all }: Remains,
): Verdict {
  const old = olds.get(journal.oldId);
  if (unreadable.has(journal.oldId)) return { reason: 'claims to replace a container that cannot be inspected' };
  const ofOld = all.filter(({ oldId }) => oldId === journal.oldId);
  const isMarked = ofOld.some((mark) => isMarkOf(mark, journal.transaction));
  const given = parseTransactionName(container.name);
  if (journal.role === 'standin' && old !== undefined && !removesItself(old))
    return { reason: 'claims to stand in for a container without --rm' };
  if (!isInPlace(container.name, journal) && !isMarked)
    return old === undefined ? 'over' : { reason: 'has a name that does not match its journal' };
  if (isExcluded(old ?? container)) return { reason: 'is disabled by its label, so no update of it can have begun' };
  if (isMarked) return 'believed';
  if (old !== undefined && parseKeptName(old.name) !== undefined)
    return { reason: `claims to replace "${old.name}", which is kept` };
  if (ofOld.length > 0) return { reason: 'claims a container that another update has marked as its own' };
  if (old !== undefined) {
    const reason = whyUnconfirmed(container, journal, old, given);
    return reason === undefined ? 'believed' : { reason };
  }
  if (container.name === journal.name) return 'over';
  if (journal.role === 'standin' && given?.role === 'drop') return 'believed';
  if (given?.role === 'bad' && carriers.some((other) => standsInPlace(other, journal))) return 'believed';
  return { reason: 'claims to replace a container that is gone, and nothing shows that Upkeep made it' };
}

/**
 * True if a rollback has given this auto-remove replica the plain name. Only the failed successor remains to be removed
 * then.
 */
function standsInPlace({ container, journal }: JournaledContainer, { transaction, oldId, name }: Journal): boolean {
  const isItsAutoRemoveReplica =
    journal.role === 'standin' && journal.transaction === transaction && journal.oldId === oldId;
  return isItsAutoRemoveReplica && journal.name === name && container.name === name;
}

/** Whether a container of this role can have the name by the protocol. */
function isInPlace(actual: string, { name, role }: Journal): boolean {
  if (actual === name) return true;
  const given = parseTransactionName(actual);
  if (given?.name !== name) return false;
  if (role === 'standin') return isAutoRemoveReplicaName(actual) || given.role === 'drop';
  return given.role === 'new' || given.role === 'bad';
}

/** Checks facts of the engine that an honest update leaves, and that nobody can forge about containers of others. */
function whyUnconfirmed(
  container: Container,
  { name, policy, wasRunning, reference, role }: Journal,
  old: Container,
  own: TransactionName | undefined,
): string | undefined {
  const parked = parseTransactionName(old.name);
  const isParked = parked?.name === name && (parked.role === 'old' || parked.role === 'drop');
  // A successor that is not in its place may be removed without a change to the old container.
  const isAside = own?.role === 'new' || own?.role === 'bad';
  if (old.name !== name && !isParked && (parked !== undefined || !isAside))
    return `claims to replace "${old.name}", which no update has renamed`;
  if (isParked && (!samePolicy(parked.policy, policy) || parked.wasRunning !== wasRunning))
    return `claims to replace "${old.name}" with another restart policy than its name contains`;
  if (isParked && parked.role === 'drop' && own !== undefined && role === 'successor')
    return `claims to replace "${old.name}", which has been replaced already`;
  if (old.createdAtMs > container.createdAtMs) return `claims to replace "${old.name}", which is younger`;
  if (!isMadeFor(container, reference, old))
    return `claims to replace "${old.name}", which was created from another image`;
  return undefined;
}

/**
 * A successor has the reference of the old container, or another tag of its repository, unless that was an id or a
 * label replaced it.
 */
function isMadeFor({ settings }: Container, reference: string, old: Container): boolean {
  const [made, before] = [settings.Config.Image, old.settings.Config.Image];
  if (made !== reference) return false;
  return (
    isOfSameRepository(before, reference) ||
    isImageId(before, old.imageId) ||
    labelValuesOf(old).originalImage !== undefined
  );
}

function isOfSameRepository(before: string, reference: string): boolean {
  if (before === reference) return true;
  const [one, other] = [tryParseImageReference(before), tryParseImageReference(reference)];
  if (one === undefined || other === undefined || one.digest !== undefined) return false;
  return sameRepository(one, other);
}
