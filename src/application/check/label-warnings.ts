import type { Log } from '../../domain/outside/outside.ts';
import type { Selection } from '../../domain/check/selection.ts';

/** Logs errors in containers' labels, each once per process. */
export function createLabelWarnings(log: Log): (selection: Selection) => void {
  const said = new Set<string>();
  return ({ watched, unwatched }) => {
    for (const { container, warnings } of [...watched, ...unwatched]) {
      for (const warning of warnings) {
        const key = `${container.name} ${warning}`;
        if (said.has(key)) continue;
        if (said.size >= mostRemembered) said.clear();
        said.add(key);
        log.warn(warning, { container: container.name });
      }
    }
  };
}

/** Beyond this number all entries are dropped, and warnings are logged once more. */
const mostRemembered = 5000;
