import type { OutgoingHttpHeaders } from 'node:http';

/**
 * Headers of every reply, names and values alternating. A page has its own content security policy.
 * https://owasp.org/www-project-secure-headers/
 */
export function securityHeaders(own: OutgoingHttpHeaders): readonly string[] {
  return own['Content-Security-Policy'] === undefined ? withPolicy : withoutPolicy;
}

const withoutPolicy = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['X-Frame-Options', 'DENY'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Cross-Origin-Embedder-Policy', 'require-corp'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];

const withPolicy = [...withoutPolicy, 'Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"];
