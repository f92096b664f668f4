/**
 * A URL of each service with recognisable secrets, each in its own place. A text from `secrets` must not appear
 * anywhere.
 */
export const canaryUrls: Readonly<Record<string, { readonly url: string; readonly secrets: readonly string[] }>> = {
  discord: { url: 'discord://cAnaRy01-x9Q_z@123456', secrets: ['cAnaRy01-x9Q_z'] },
  telegram: {
    url: 'telegram://4417:cAnaRy02-x9Q_z@telegram?chats=@c',
    secrets: ['4417:cAnaRy02-x9Q_z', 'cAnaRy02-x9Q_z'],
  },
  smtp: { url: 'smtp://me:cAnaRy03x9Qz@127.0.0.1:1/?from=a@b.c&to=d@e.f', secrets: ['cAnaRy03x9Qz'] },
  gotify: { url: 'gotify://push.example.com/cAnaRy04x9Qz', secrets: ['cAnaRy04x9Qz'] },
  ntfy: { url: 'ntfy://me:cAnaRy05x9Qz@ntfy.example.com/t0pic7x', secrets: ['cAnaRy05x9Qz'] },
  slack: {
    url: 'slack://xoxb:T06CANARY-B06CANARY-cAnaRy06x9Qzjjjjqqqq7777@C001',
    secrets: ['T06CANARY', 'B06CANARY', 'cAnaRy06x9Qzjjjjqqqq7777'],
  },
  pushover: {
    url: `pushover://x:cAnaRy07x9Qz@cAnaRy07kK8w/?key=${'ca7a77f9'.repeat(8)}`,
    secrets: ['cAnaRy07x9Qz', 'cAnaRy07kK8w', 'ca7a77f9'.repeat(8)],
  },
  generic: {
    url: 'generic+https://me:cAnaRy08pPw@hooks.example.com/cAnaRy08path7?@X-Key=cAnaRy08head&$f=cAnaRy08fld&q=cAnaRy08qry&template=json',
    secrets: ['cAnaRy08pPw', 'cAnaRy08path7', 'cAnaRy08head', 'cAnaRy08fld', 'cAnaRy08qry'],
  },
  teams: {
    url: 'teams://?host=https%3A%2F%2Fprod-01.westeurope.logic.azure.com%2Fworkflows%2FcAnaRy09path%2Fx%3Fsig%3DcAnaRy09sigg',
    secrets: ['cAnaRy09sigg', 'cAnaRy09path'],
  },
  matrix: { url: 'matrix://me:cAnaRy10x9Qz@matrix.example.com/?rooms=!r:h', secrets: ['cAnaRy10x9Qz'] },
  mattermost: { url: 'mattermost://chat.example.com/cAnaRy11x9Qz', secrets: ['cAnaRy11x9Qz'] },
  signal: {
    url: 'signal://me:cAnaRy12x9Qz@signal.example.com/+4915/+4916?token=cAnaRy12tokk',
    secrets: ['cAnaRy12x9Qz', 'cAnaRy12tokk'],
  },
  googlechat: {
    url: 'googlechat://chat.googleapis.com/v1/spaces/S/messages?key=cAnaRy13keyy&token=cAnaRy13tokk',
    secrets: ['cAnaRy13keyy', 'cAnaRy13tokk'],
  },
  rocketchat: {
    url: 'rocketchat://chat.example.com/cAnaRy14aaa7/cAnaRy14bbb7',
    secrets: ['cAnaRy14aaa7', 'cAnaRy14bbb7'],
  },
  mqtt: { url: 'mqtt://me:cAnaRy15x9Qz@127.0.0.1:1/a/b', secrets: ['cAnaRy15x9Qz'] },
  bark: { url: 'bark://:cAnaRy16x9Qz@bark.example.com', secrets: ['cAnaRy16x9Qz'] },
  ifttt: { url: 'ifttt://cAnaRy17x9Qz/?events=e', secrets: ['cAnaRy17x9Qz'] },
  join: { url: 'join://x:cAnaRy18x9Qz@join/?devices=d', secrets: ['cAnaRy18x9Qz'] },
  lark: {
    url: 'lark://open.larksuite.com/cAnaRy19x9Qz?secret=cAnaRy19secc',
    secrets: ['cAnaRy19x9Qz', 'cAnaRy19secc'],
  },
  notifiarr: { url: 'notifiarr://cAnaRy20x9Qz', secrets: ['cAnaRy20x9Qz'] },
  opsgenie: { url: 'opsgenie://api.opsgenie.com/cAnaRy21x9Qz', secrets: ['cAnaRy21x9Qz'] },
  pagerduty: { url: 'pagerduty://ca7a22f9ca7a22f9ca7a22f9ca7a22f9', secrets: ['ca7a22f9ca7a22f9ca7a22f9ca7a22f9'] },
  pushbullet: {
    url: 'pushbullet://cAnaRy23x9QzjjjjqqqqwwwwKKKK7777gg',
    secrets: ['cAnaRy23x9QzjjjjqqqqwwwwKKKK7777gg'],
  },
  twilio: { url: 'twilio://AC24cAnaRy:cAnaRy24x9Qz@+15551/+15552', secrets: ['AC24cAnaRy', 'cAnaRy24x9Qz'] },
  wecom: { url: 'wecom://cAnaRy25x9Qz', secrets: ['cAnaRy25x9Qz'] },
  zulip: { url: 'zulip://bot%40b.example.com:cAnaRy26x9Qz@zulip.example.com?stream=s', secrets: ['cAnaRy26x9Qz'] },
  healthchecks: { url: 'healthchecks+https://hc-ping.com/cAnaRy27-x9Qz', secrets: ['cAnaRy27-x9Qz'] },
  kuma: { url: 'kuma+https://kuma.example.com/api/push/cAnaRy28x9Qz', secrets: ['cAnaRy28x9Qz'] },
  webhook: {
    url: 'webhook+https://hooks.example.com/cAnaRy29pathxx7?secret=cAnaRy29-x9Qz-kkkk&q=cAnaRy29qry',
    secrets: ['cAnaRy29pathxx7', 'cAnaRy29-x9Qz-kkkk', 'cAnaRy29qry'],
  },
  apprise: {
    url: 'apprise://me:cAnaRy30x9Qz@apprise.example.com/cAnaRy30keyy',
    secrets: ['cAnaRy30x9Qz', 'cAnaRy30keyy'],
  },
};
