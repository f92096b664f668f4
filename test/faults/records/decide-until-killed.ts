import { writeSync } from 'node:fs';
import { createSharedRecords } from '../../../src/adapters/files/shared-records.ts';
import {
  compactRecords,
  readDecisionRecord,
  type Decision,
  type DecisionRecord,
} from '../../../src/domain/decision/decisions.ts';

/** Makes decisions for five containers in turn, from a number on. Prints each number after its decision is stored. */
const [, , path = '', from = '0', prefix = 'c'] = process.argv;
const complain = (message: string, fields: object = {}) => {
  writeSync(2, `${message} ${JSON.stringify(fields)}\n`);
};
const store = createSharedRecords<DecisionRecord>({
  path,
  what: 'decisions',
  version: 1,
  compact: compactRecords,
  compactFromBytes: 3000,
  mustBeWhole: true,
  read: readDecisionRecord,
  log: { warn: complain },
});
for (let n = Number(from); ; n += 1) {
  const decision: Decision = {
    id: String(n),
    kind: 'approve',
    container: `${prefix}${n % 5}`,
    digest: `sha256:${'a'.repeat(64)}`,
    tag: undefined,
    by: 'command line',
    atMs: n,
    untilMs: undefined,
  };
  const answer = await store.append([{ kind: 'decided', decision }]);
  writeSync(1, `${n} ${answer}\n`);
}
