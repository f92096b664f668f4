import { describe, expect, test } from 'vitest';
import { bodyForPodman, recordedAddresses } from './podman.ts';

const recipe = {
  body: {
    Labels: { mine: '1' },
    NetworkingConfig: { EndpointsConfig: { bridge: {}, front: { IPAMConfig: { IPv4Address: '10.0.0.2' } } } },
  },
  laterEndpoints: [{ networkId: 'id', networkName: 'back', endpoint: { IPAMConfig: { IPv6Address: 'fd00::2' } } }],
};

describe('bodyForPodman()', () => {
  test('calls the default network by its name there, and notes the addresses that are asked for', () => {
    const body = bodyForPodman(recipe);
    expect(body).toMatchObject({
      NetworkingConfig: { EndpointsConfig: { podman: {}, front: {} } },
      Labels: { mine: '1' },
    });
    expect(recordedAddresses(body['Labels'])).toEqual(
      new Map([
        ['front', { IPv4Address: '10.0.0.2' }],
        ['back', { IPv6Address: 'fd00::2' }],
      ]),
    );
  });

  test('notes also that none was', () => {
    expect(recordedAddresses(bodyForPodman({ body: {}, laterEndpoints: [] })['Labels'])).toEqual(new Map());
  });
});

describe('recordedAddresses()', () => {
  test.each([undefined, {}, { 'upkeep.tx.addresses': 'no JSON' }, { 'upkeep.tx.addresses': '[1]' }])(
    'of %j there are none',
    (labels) => {
      expect(recordedAddresses(labels)).toBeUndefined();
    },
  );

  test('takes nothing but texts from a foreign label', () => {
    expect(recordedAddresses({ 'upkeep.tx.addresses': '{"a":{"IPv4Address":7,"Other":"x"},"b":3}' })).toEqual(
      new Map([
        ['a', {}],
        ['b', {}],
      ]),
    );
  });
});
