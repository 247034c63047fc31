import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import {
  type ApiServerProcess,
  type Kubectl,
  kubectlOf,
  startApiServerProcess,
} from '../harness/api-server.ts';
import { describeFleet } from '../harness/fleet.ts';
import { until } from '../harness/until.ts';

/** One kubectl takes its steps one after the other, beside those of the other versions. */
const IN_TURN = { concurrent: false };

let server: ApiServerProcess;
beforeAll(async () => {
  server = await startApiServerProcess({ memory: true, flags: ['--controllers', 'core'] });
});
afterAll(() => server?.stop());

/** A kind with all that a client may ask about: two versions, columns, scale, a default and a rule. */
const definition = (group: string): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `boats.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'boats', singular: 'boat', kind: 'Boat', shortNames: ['bt'], categories: ['vessels'] },
    versions: ['v1', 'v1beta1'].map((name) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: {
        openAPIV3Schema: {
          type: 'object',
          description: 'A boat that can be steered.',
          properties: {
            spec: {
              type: 'object',
              required: ['length'],
              properties: {
                length: { type: 'integer', minimum: 1, description: 'From bow to stern, in metres.' },
                crew: { type: 'integer', default: 1 },
                colour: { type: 'string', enum: ['red', 'green'] },
              },
            },
            status: { type: 'object', properties: { crew: { type: 'integer' } } },
          },
        },
      },
      subresources: {
        status: {},
        scale: { specReplicasPath: '.spec.crew', statusReplicasPath: '.status.crew' },
      },
      additionalPrinterColumns: [{ name: 'Length', type: 'integer', jsonPath: '.spec.length' }],
    })),
  },
});

for (const binary of inject('kubectls')) {
  describeFleet.concurrent(`kubectl ${binary.version} and what there is`, () => {
    const minor = Number(binary.version.split('.')[1]);
    const group = `v${minor}.example.com`;
    let kubectl: Kubectl;
    beforeAll(async () => {
      kubectl = kubectlOf(server, binary, 'discovery');
      await kubectl.run('create', 'namespace', kubectl.namespace);
    });

    it('[V5 V89] lists resources, versions, and anything by its path', IN_TURN, async () => {
      const { run, attempt } = kubectl;
      const resources = await run('api-resources');
      expect(resources).toMatch(/^NAME +SHORTNAMES +API(VERSION|GROUP) +NAMESPACED +KIND *\n/);
      for (const line of [
        /^configmaps +cm +v1 +true +ConfigMap$/m,
        /^customresourcedefinitions +crd,crds +apiextensions\.k8s\.io\/v1 +false +CustomResourceDefinition$/m,
        /^deployments +deploy +apps\/v1 +true +Deployment$/m,
        /^leases +coordination\.k8s\.io\/v1 +true +Lease$/m,
      ])
        expect(resources).toMatch(line);
      expect(await run('api-resources', '--namespaced=false', '--verbs=list,create', '-o', 'name')).toMatch(
        /^nodes$/m,
      );
      expect(await run('api-resources', '--api-group=batch', '-o', 'wide')).toMatch(
        /^cronjobs .*(\[create delete|create,delete)/m,
      );
      expect(await run('api-versions')).toMatch(/^apps\/v1$/m);
      expect(await run('get', '--raw', '/readyz')).toBe('ok');
      expect(JSON.parse(await run('get', '--raw', '/version'))).toMatchObject({ major: '1' });
      expect(JSON.parse(await run('get', '--raw', '/apis/apps/v1'))).toMatchObject({
        kind: 'APIResourceList',
        groupVersion: 'apps/v1',
      });
      expect(await attempt(['get', '--raw', '/apis/none'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('NotFound'),
      });
      expect(await run('version')).toMatch(/Server Version/);
    });

    it('[V7 V89] explains built-in kinds, all the way down', IN_TURN, async () => {
      const { run, attempt } = kubectl;
      for (const kind of [
        'pods',
        'deployments',
        'customresourcedefinitions',
        'networkpolicies',
        'horizontalpodautoscalers',
      ])
        expect((await run('explain', kind, '--recursive')).split('\n').length, kind).toBeGreaterThan(40);
      expect(await run('explain', 'deploy.spec.template.spec.containers.resources')).toMatch(
        /limits.*requests/s,
      );
      expect(await run('explain', 'cronjob', '--api-version=batch/v1')).toMatch(/VERSION: +(batch\/)?v1/);
      const none = await attempt(['explain', 'pod.spec.nothing']);
      expect(none.code).toBe(1);
      expect(none.stderr).toContain('field "nothing" does not exist');
    });

    it('[V44 V89] defines a kind and uses it at once, as one that was always there', IN_TURN, async () => {
      const { run, feed, attempt, field } = kubectl;
      await feed(definition(group), 'create');
      expect(
        await run('wait', `crd/boats.${group}`, '--for=condition=Established', '--timeout=10s'),
      ).toContain('condition met');
      const boat = (name: string, spec: object): object => ({
        apiVersion: `${group}/v1`,
        kind: 'Boat',
        metadata: { name },
        spec,
      });
      expect(await feed(boat('ida', { length: 9 }), 'apply')).toBe(`boat.${group}/ida created\n`);
      expect(await run('get', `boats.${group}`)).toMatch(/^NAME +LENGTH\nida +9\n$/);
      expect(await run('get', `boats.v1beta1.${group}`, 'ida', '-o', 'jsonpath={.apiVersion}')).toBe(
        `${group}/v1beta1`,
      );
      expect(await run('explain', `boats.spec.length`, `--api-version=${group}/v1`)).toMatch(
        /From bow to\s+stern, in metres/,
      );
      expect(await run('scale', `boats.${group}/ida`, '--replicas=3')).toContain('scaled');
      expect(await field(`boats.${group}/ida`, '.spec.crew')).toBe('3');
      const wrong = await attempt(['apply', '-f', '-'], {
        input: JSON.stringify(boat('odd', { length: 0, colour: 'blue' })),
      });
      expect(wrong.code).toBe(1);
      expect(wrong.stderr).toMatch(
        /spec\.length: Invalid value: 0.*spec\.colour: Unsupported value: "blue"|spec\.colour: Unsupported value: "blue".*spec\.length: Invalid value: 0/s,
      );
      const unknown = await attempt(['create', '-f', '-'], {
        input: JSON.stringify(boat('odd', { length: 1, sails: 2 })),
      });
      expect(unknown.stderr).toMatch(/unknown field "(spec\.)?sails"/);
      if (minor >= 27) {
        expect(
          await run(
            'patch',
            `boats.${group}/ida`,
            '--subresource=status',
            '--type=merge',
            '-p',
            '{"status":{"crew":2}}',
          ),
        ).toContain('patched');
        expect(await field(`boats.${group}/ida`, '.status.crew')).toBe('2');
      }
      await run('delete', 'crd', `boats.${group}`, '--timeout=20s');
      await until(
        'it is served no longer',
        async () => (await attempt(['get', '--raw', `/apis/${group}/v1`])).code === 1,
      );
      await run('delete', 'namespace', kubectl.namespace, '--timeout=20s');
    });
  });
}
