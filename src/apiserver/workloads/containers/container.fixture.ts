import { virtualRuntime } from '../../../runtime/index.ts';
import { type ByteSink, type ByteSource, noBytes } from '../../streams/byte-pipe.ts';
import type { Container, Pod } from '../kinds.ts';
import { type Execution, type SimulatedContainer, simulatedContainer } from './container.ts';
import { boundedSpace } from './file-system.ts';
import type { PodFacts } from './pod-facts.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface ContainerRig {
  readonly runtime: ReturnType<typeof virtualRuntime>;
  readonly container: SimulatedContainer;
  /** Runs a script with `sh -c`. */
  sh(script: string, stdin?: string): Promise<Ran>;
  run(command: readonly string[], options?: Partial<Execution>): Promise<Ran>;
}

export const CONFIG: object = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings' },
  data: { colour: 'red', 'app.conf': 'a=1\nb=2\n' },
};
export const KEY: object = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'key' },
  data: { token: Buffer.from('s3cret').toString('base64') },
};

/** A container of a pod that mounts a ConfigMap, a Secret, the downward API and an empty directory. */
export function containerRig(spec: object = {}, limit: number = 1024 * 1024): ContainerRig {
  const runtime = virtualRuntime(1);
  const container = {
    name: 'main',
    image: 'shop/app:1',
    env: [
      { name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'colour' } } },
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'BOTH', value: '$(COLOUR)-$(IP)-$(NONE)' },
      { name: 'CORES', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    ],
    envFrom: [{ prefix: 'KEY_', secretRef: { name: 'key' } }],
    resources: { limits: { cpu: '1500m' } },
    volumeMounts: [
      { name: 'conf', mountPath: '/etc/conf' },
      { name: 'key', mountPath: '/etc/key' },
      { name: 'info', mountPath: '/etc/podinfo' },
      { name: 'scratch', mountPath: '/scratch' },
    ],
    ...spec,
  } as Container;
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-0', namespace: 'shop', labels: { app: 'web' } },
    spec: {
      containers: [container],
      volumes: [
        { name: 'conf', configMap: { name: 'settings' } },
        { name: 'key', secret: { secretName: 'key' } },
        {
          name: 'info',
          downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
        },
        { name: 'scratch', emptyDir: {} },
      ],
    },
    status: { podIP: '10.244.0.9' },
  } as unknown as Pod;
  const facts: PodFacts = {
    pod,
    node: undefined,
    find: (resource, name) =>
      (resource === 'configmaps' && name === 'settings'
        ? CONFIG
        : resource === 'secrets' && name === 'key'
          ? KEY
          : undefined) as ReturnType<PodFacts['find']>,
  };
  const open = simulatedContainer(runtime.clock, container, facts, new Map(), boundedSpace(limit));
  const rig: ContainerRig = {
    runtime,
    container: open,
    sh: (script, stdin) =>
      rig.run(['sh', '-c', script], stdin === undefined ? {} : { stdin: sourceOf(stdin) }),
    async run(command, options = {}) {
      const out = sink();
      const err = sink();
      const running = open.run(facts, {
        command,
        stdin: noBytes,
        stdout: out,
        stderr: err,
        tty: false,
        signal: new AbortController().signal,
        ...options,
      });
      await runtime.clock.settle();
      return { code: await running, out: out.text(), err: err.text() };
    },
  };
  return rig;
}

export function sourceOf(...texts: string[]): ByteSource {
  return {
    read: async () => {
      const text = texts.shift();
      return text === undefined ? undefined : Buffer.from(text);
    },
    cancel: () => {},
  };
}

export function sink(): ByteSink & { text(): string } {
  const chunks: Uint8Array[] = [];
  return {
    write: async (chunk) => {
      chunks.push(Uint8Array.from(chunk));
    },
    end: () => {},
    text: () => Buffer.concat(chunks).toString(),
  };
}
