import { createTabServer } from './transport/shared-reader.ts';

const serve = createTabServer();
// The types of this folder are those of a page. https://html.spec.whatwg.org/multipage/workers.html#handler-sharedworkerglobalscope-onconnect
(globalThis as { onconnect?: (event: MessageEvent) => void }).onconnect = ({ ports: [port] }) => {
  if (port !== undefined) serve(port);
};
