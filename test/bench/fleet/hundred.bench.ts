import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { cpuMsOf, residentMiBOf } from '../../support/scene/process-use.ts';
import { serveFleet, type ServedFleet } from '../../support/scene/serve-fleet.ts';
import { imageNode } from '../rig/image-node.ts';
import { median, reportRatio } from '../rig/ratios.ts';

/** The built service with a hundred engines, the expected maximum: two real ones, each behind fifty sockets. */
describeInLab('a hundred engines', (lab) => {
  const engines = 100;
  const containers = 30;
  const idleMs = 60_000;
  const most = { mebibytes: 110, checkedMebibytes: 135, cpuPercent: 1, attemptsASecond: 2, slower: 1.2 };
  const real: LabEngine[] = [];
  const doors: Door[] = [];

  beforeAll(async () => {
    const image = `${lab.registry.host}/bench/hundred:1`;
    await pushImage(lab.registry, 'bench/hundred', '1', catalogue['plain-v1']);
    for (const name of ['even', 'odd']) {
      const engine = await lab.startEngine({ name: `hundred-${name}` });
      real.push(engine);
      await engine.pull(image);
      for (let number = 0; number < containers; number += 1)
        await engine.run(`web${number}`, image, { StopTimeout: 1 });
    }
    for (let number = 0; number < engines; number += 1)
      doors.push(await openDoor(join(lab.dir, `door-${number}.sock`), real[number % 2]?.socket ?? ''));
  });
  afterAll(async () => {
    for (const door of doors) door.close();
    for (const engine of real) await engine.remove();
  });

  const hosts = (some: readonly Door[]) => some.flatMap(({ path }, number) => ['--host', `e${number}=unix://${path}`]);

  test('with thirty containers each: the first list, memory and CPU', async () => {
    const begunAt = performance.now();
    const upkeep = await serveFleet([...hosts(doors), '--no-start-check'], imageNode());
    await allListed(upkeep);
    console.log(
      `a hundred engines: all containers listed after ${((performance.now() - begunAt) / 1000).toFixed(1)} s`,
    );
    await settled(upkeep);
    const cpuBefore = cpuMsOf(upkeep.service);
    await sleep(idleMs);
    const percent = ((cpuMsOf(upkeep.service) - cpuBefore) / idleMs) * 100;
    const mebibytes = residentMiBOf(upkeep.service);
    console.log(`a hundred engines: ${mebibytes.toFixed(0)} MiB resident (aim ${most.mebibytes})`);
    console.log(`a hundred engines, idle: ${percent.toFixed(1)} % of a core (aim ${most.cpuPercent})`);
    await upkeep.read('/v1/check', 'POST');
    const checked = residentMiBOf(upkeep.service).toFixed(0);
    console.log(`a hundred engines, after a check: ${checked} MiB resident (aim ${most.checkedMebibytes})`);
  });

  test('of which all but one are away: connection attempts, and the time of the one', async () => {
    const [first] = doors;
    if (first === undefined) throw new Error('There is no door');
    const upkeep = await serveFleet(hosts(doors), imageNode());
    await allListed(upkeep);
    for (const door of doors.slice(1)) door.shut();
    // The delay between attempts grows up to a minute.
    await sleep(180_000);
    const before = attempts();
    await sleep(60_000);
    const perSecond = (attempts() - before) / 60;
    console.log(
      `a hundred engines, 99 of them unreachable: ${perSecond.toFixed(1)} connection attempts a second (aim ${most.attemptsASecond})`,
    );

    const alone = await serveFleet([...hosts([first]), '--host', 'other=unix:///nowhere'], imageNode());
    const [times, floors]: [number[], number[]] = [[], []];
    for (let round = 0; round < 9; round += 1) {
      floors.push(await timeOf(() => alone.read('/v1/check?engine=e0', 'POST')));
      times.push(await timeOf(() => upkeep.read('/v1/check?engine=e0', 'POST')));
    }
    reportRatio('a check of one engine while 99 are unreachable', median(times), median(floors), most.slower);
    expect(times).toHaveLength(9);
  });

  /** Requests the smallest document, because its answers add to the measured memory. */
  async function allListed(upkeep: ServedFleet): Promise<void> {
    const listed = async () => {
      const reply = await upkeep.read<{ engines: readonly { containers: number }[] }>('/v1/engines');
      return reply.engines.reduce((sum, each) => sum + each.containers, 0);
    };
    await expect.poll(listed, { timeout: 120_000, interval: 250 }).toBe(engines * containers);
  }

  /** After its start a service reads each container once, and V8 compiles and compacts for some seconds more. */
  async function settled({ service }: ServedFleet): Promise<void> {
    for (let before = -Infinity; cpuMsOf(service) - before > 100; await sleep(10_000)) before = cpuMsOf(service);
  }

  function attempts(): number {
    return doors.reduce((sum, door) => sum + door.refused(), 0);
  }
});

type Door = {
  readonly path: string;
  /** From now on every connection is closed at once, and counted. */
  readonly shut: () => void;
  readonly refused: () => number;
  readonly close: () => void;
};

/** A socket that forwards to the engine's socket. */
async function openDoor(path: string, engine: string): Promise<Door> {
  const sockets = new Set<Socket>();
  let isShut = false;
  let refused = 0;
  const server: Server = createServer((socket) => {
    if (isShut) {
      refused += 1;
      socket.destroy();
      return;
    }
    const behind = connect(engine);
    for (const each of [socket, behind]) {
      sockets.add(each);
      each.on('error', () => undefined);
      each.on('close', () => {
        sockets.delete(each);
        socket.destroy();
        behind.destroy();
      });
    }
    socket.pipe(behind).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    path,
    shut() {
      isShut = true;
      cut();
    },
    refused: () => refused,
    close() {
      server.close();
      cut();
    },
  };
}

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now();
  await act();
  return performance.now() - begunAt;
}
