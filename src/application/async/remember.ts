import { repositoryName } from '../../domain/image/image-reference.ts';
import type { Registry, TagList } from '../../domain/outside/registry.ts';

/** Calls once for each key, also while the first call is under way. Failures are kept too. Its caller bounds the keys. */
export function remember<Args extends readonly unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
  keyOf: (...args: Args) => string,
): (...args: Args) => Promise<Result> {
  const answers = new Map<string, Promise<Result>>();
  return (...args) => {
    const key = keyOf(...args);
    const answer = answers.get(key) ?? call(...args);
    answers.set(key, answer);
    return answer;
  };
}

/**
 * Like `remember`, for lists of tags: one call for each repository while its list is among the latest 32 MB. An earlier
 * one is asked for again.
 */
export function rememberLists(listTags: Registry['listTags']): Registry['listTags'] {
  const lists = new Map<string, { readonly answer: Promise<TagList>; bytes: number }>();
  let bytes = 0;
  return (reference, signal) => {
    const key = repositoryName(reference);
    const known = lists.get(key);
    if (known !== undefined) return known.answer;
    const list = { answer: listTags(reference, signal), bytes: 0 };
    lists.set(key, list);
    list.answer.then(
      ({ tags }) => {
        list.bytes = tags.length;
        bytes += list.bytes;
        for (const [earlier, { bytes: freed }] of lists) {
          if (bytes <= maxListsBytes) return;
          if (earlier === key || freed === 0) continue;
          lists.delete(earlier);
          bytes -= freed;
        }
      },
      () => undefined,
    );
    return list.answer;
  };
}

/** Sixteen lists of the greatest size, thousands of usual ones. */
const maxListsBytes = 32 * 1024 * 1024;

/**
 * Returns a function that is true for the first call with each key. After `most` keys all are forgotten, and the next
 * call with each is a first one again.
 */
export function createFirstTimes(most: number): (key: string) => boolean {
  const known = new Set<string>();
  return (key) => {
    if (known.has(key)) return false;
    if (known.size >= most) known.clear();
    known.add(key);
    return true;
  };
}
