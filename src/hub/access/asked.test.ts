import { describe, expect, it } from 'vitest';
import { askedOfSpoke } from './asked.ts';

function asked(method: string, path: string, upgrade?: string): string {
  const headers = upgrade === undefined ? {} : { upgrade, connection: 'Upgrade' };
  const { verb, needs, namespace, never } = askedOfSpoke({ method, path, headers });
  return [verb, needs ?? '-', namespace || '-', ...(never === undefined ? [] : ['never'])].join(' ');
}

describe('what a request to a spoke needs', () => {
  it.each([
    ['GET', '/api/v1/pods', 'get - -'],
    ['GET', '/api/v1/namespaces/a/pods/b/log?follow=true', 'get - a'],
    ['GET', '/apis/apps/v1/deployments?watch=1', 'get - -'],
    ['GET', '/openapi/v3', 'get - -'],
    ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'get - -'],
    ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', 'create write -'],
    ['POST', '/api/v1/namespaces/a/pods', 'create write a'],
    ['PATCH', '/api/v1/namespaces/a', 'create write -'],
    ['DELETE', '/api/v1/nodes/n', 'create write -'],
    ['DELETE', '/api/v1/namespaces/a/pods', 'create write a'],
    ['POST', '/metrics', 'create write -'],
    // Old paths by which a read is something else.
    ['POST', '/api/v1/watch/namespaces/a/pods', 'create write a'],
    ['GET', '/api/v1/proxy/namespaces/a/services/s', 'create port-forward a'],
    ['GET', '/api/v1/namespaces/a/services/s/proxy/x', 'create port-forward a'],
    ['GET', '/api/v1/nodes/n/proxy/run/a/b/c?cmd=id', 'create exec -'],
    // An empty part of a path makes nothing else of it.
    ['GET', '/api/v1/nodes/n/proxy//pods', 'create exec -'],
    ['GET', '/api/v1/nodes/n/proxy%2F%2Fpods', 'create exec -'],
    ['GET', '/api/v1/namespaces/a/services/s/proxy/x//', 'create port-forward a'],
    ['POST', '/api/v1/namespaces/a/serviceaccounts/s/token', 'create write a never'],
    ['POST', '/clusters/leaf/api/v1/namespaces/a/pods', 'create write a'],
    ['GET', `${'/clusters/x'.repeat(20)}/api/v1/pods`, 'create exec -'],
  ])('%s %s: %s', (method, path, wanted) => {
    expect(asked(method, path)).toBe(wanted);
  });

  it.each([
    ['GET', '/api/v1/namespaces/a/pods/p/exec?command=id', 'websocket', 'create exec a'],
    ['POST', '/api/v1/namespaces/a/pods/p/attach', 'SPDY/3.1', 'create exec a'],
    ['POST', '/api/v1/namespaces/a/pods/p/portforward', 'SPDY/3.1', 'create port-forward a'],
    ['GET', '/clusters/mid/clusters/leaf/api/v1/namespaces/a/pods/p/exec', 'websocket', 'create exec a'],
    ['GET', '/api/v1/pods?watch=1', 'websocket', 'get - -'],
    // A stream that is not known is the worst that it can be, wherever it says it is.
    ['GET', '/apis/subresources.kubevirt.io/v1/namespaces/a/vms/v/vnc', 'websocket', 'create exec -'],
    ['GET', '/fleet/api/v1/namespaces/a/pods/p/exec', 'websocket', 'create exec -'],
  ])('%s %s as %s: %s', (method, path, upgrade, wanted) => {
    expect(asked(method, path, upgrade)).toBe(wanted);
  });

  it.each([
    '/api/v1/namespaces/a/serviceaccounts/s/token//',
    '/api/v1//namespaces/a/pods/p/exec',
    '//api/v1/nodes/n/proxy/x',
    '/apis/apps/v1/namespaces%2F%2Fa/deployments',
  ])('refuses %s, which servers read in several ways', (path) => {
    expect(() => asked('POST', path)).toThrow('between two slashes');
  });
});
