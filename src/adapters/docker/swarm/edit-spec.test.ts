import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RawSpec } from '../../../domain/container/swarm-service.ts';
import { editSpec } from './raw-spec.ts';

const asRead = (text: string) => text as RawSpec;
const [oldImage, newImage] = ['team/app:1@sha256:aa', 'team/app:1@sha256:bb'];
const full = `{"Name":"web","Labels":{"a":"${oldImage}"},"TaskTemplate":{"ContainerSpec":{"Env":["Image=\\"Image\\":"],"Image":"${oldImage}","Ulimits":[{"Hard":9223372036854775807}]},"Placement":{"MaxReplicas":9007199254740993,"Platforms":[{"Architecture":"amd64","OS":"linux"}]}},"Mode":{"Replicated":{"Replicas":2}}}`;

describe('editSpec()', () => {
  test('it replaces the image, also where a label or a variable has the same text, and nothing else', () => {
    const edited = editSpec(asRead(full), { image: newImage, labels: {} });
    const at = full.indexOf(`"Image":"${oldImage}"`);
    expect(edited).toBe(`${full.slice(0, at)}"Image":"${newImage}"${full.slice(at + oldImage.length + 10)}`);
  });

  test('it adds labels before the others, and replaces those of an earlier update', () => {
    const labels = { 'upkeep.tx.id': '1', 'upkeep.tx.from': oldImage };
    const once = editSpec(asRead(full), { image: newImage, labels });
    expect(once).toContain(`"Labels":{"upkeep.tx.id":"1","upkeep.tx.from":"${oldImage}","a":"${oldImage}"}`);
    const twice = editSpec(asRead(once ?? ''), { image: newImage, labels: { ...labels, 'upkeep.tx.id': '2' } });
    expect(twice).toBe(once?.replace('"upkeep.tx.id":"1"', '"upkeep.tx.id":"2"'));
  });

  test.each([
    [
      '{"TaskTemplate":{"ContainerSpec":{"Image":"a"}}}',
      '{"Labels":{"k":"v"},"TaskTemplate":{"ContainerSpec":{"Image":"b"}}}',
    ],
    [
      '{"Labels":null,"TaskTemplate":{"ContainerSpec":{"Image":"a"}}}',
      '{"Labels":{"k":"v"},"TaskTemplate":{"ContainerSpec":{"Image":"b"}}}',
    ],
    [
      '{"Labels":{},"TaskTemplate":{"ContainerSpec":{"Image":"a"}}}',
      '{"Labels":{"k":"v"},"TaskTemplate":{"ContainerSpec":{"Image":"b"}}}',
    ],
  ])('labels find a place in %s', (before, after) => {
    expect(editSpec(asRead(before), { image: 'b', labels: { k: 'v' } })).toBe(after);
  });

  test('platforms are replaced where there are some, without an architecture for arm, and never added', () => {
    const platforms = [
      { os: 'linux', architecture: 'arm', variant: 'v7' },
      { os: 'linux', architecture: 'arm64', variant: '' },
    ];
    const edited = editSpec(asRead(full), { image: newImage, labels: {}, platforms });
    expect(edited).toContain('"Platforms":[{"OS":"linux"},{"Architecture":"arm64","OS":"linux"}]');
    const bare = '{"TaskTemplate":{"ContainerSpec":{"Image":"a"},"Placement":{}}}';
    expect(editSpec(asRead(bare), { image: 'b', labels: {}, platforms })).toBe(bare.replace('"a"', '"b"'));
  });

  test('a spec without an image cannot be edited', () => {
    expect(editSpec(asRead('{"TaskTemplate":{"PluginSpec":{}}}'), { image: 'b', labels: {} })).toBeUndefined();
  });

  test('any image and label arrive, and every other member is what it was', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 });
    fc.assert(
      fc.property(fc.json({ maxDepth: 2 }), text, text, (other, image, value) => {
        const before = `{"Other":${other},"Labels":{"x":"y"},"TaskTemplate":{"More":${other},"ContainerSpec":{"Image":"a"}}}`;
        const after: unknown = JSON.parse(
          editSpec(asRead(before), { image, labels: { 'upkeep.tx.from': value } }) ?? '',
        );
        const expected = JSON.parse(before) as { Labels: object; TaskTemplate: { ContainerSpec: object } };
        expected.Labels = { 'upkeep.tx.from': value, x: 'y' };
        expected.TaskTemplate.ContainerSpec = { Image: image };
        expect(after).toEqual(expected);
      }),
    );
  });
});
