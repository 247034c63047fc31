import { expect, it } from 'vitest';
import { askedObject } from './show-fleet.ts';

it('takes an object in both ways in which kubectl names it', () => {
  expect(askedObject('deploy', undefined)).toEqual({ kind: 'deploy' });
  expect(askedObject('deploy', 'web')).toEqual({ kind: 'deploy', name: 'web' });
  expect(askedObject('deployments.apps/web', undefined)).toEqual({ kind: 'deployments.apps', name: 'web' });
});

it.each([
  ['deploy/web', 'cart'],
  ['deploy/', undefined],
  ['a/b/c', undefined],
])('refuses %s %s', (kind, name) => {
  expect(() => askedObject(kind, name)).toThrow('name one object as <kind>/<name> or <kind> <name>');
});

it('says that it takes one kind at a time', () => {
  expect(() => askedObject('pods,svc', undefined)).toThrow('one kind at a time: pods, or svc');
});
