import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../schema/json.ts';
import { goDiff } from './go-diff.ts';

const container: JsonObject = {
  name: 'c',
  image: 'nginx',
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  imagePullPolicy: 'Always',
};
const pod: JsonObject = {
  containers: [container],
  restartPolicy: 'Always',
  dnsPolicy: 'ClusterFirst',
  terminationGracePeriodSeconds: 30,
  securityContext: {},
};

const lines = (...text: string[]): string => `${text.join('\n')}\n`;

describe('goDiff', () => {
  it('is empty where nothing differs', () => {
    expect(goDiff('core.PodSpec', pod, structuredClone(pod))).toBe('');
  });

  it('shows two fields around one that differs, and counts the others', () => {
    expect(goDiff('core.PodSpec', pod, { ...pod, nodeName: 'n1' })).toBe(
      lines(
        '  core.PodSpec{',
        '  \t... // 9 identical fields',
        '  \tServiceAccountName:           "",',
        '  \tAutomountServiceAccountToken: nil,',
        '- \tNodeName:                     "",',
        '+ \tNodeName:                     "n1",',
        '  \tSecurityContext:              &{},',
        '  \tImagePullSecrets:             nil,',
        '  \t... // 20 identical fields',
        '  }',
      ),
    );
  });

  it('shortens what is the same in both', () => {
    expect(goDiff('core.PodSpec', pod, { ...pod, terminationGracePeriodSeconds: 1 })).toBe(
      lines(
        '  core.PodSpec{',
        '  \t... // 3 identical fields',
        '  \tEphemeralContainers:           nil,',
        '  \tRestartPolicy:                 "Always",',
        '- \tTerminationGracePeriodSeconds: &30,',
        '+ \tTerminationGracePeriodSeconds: &1,',
        '  \tActiveDeadlineSeconds:         nil,',
        '  \tDNSPolicy:                     "ClusterFirst",',
        '  \t... // 26 identical fields',
        '  }',
      ),
    );
    expect(goDiff('core.PodSpec', pod, { ...pod, restartPolicy: 'Never' })).toContain(
      'Containers:                    {{Name: "c", Image: "nginx", TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File", ...}},',
    );
  });

  it('goes down to what differs, and tells what was put in', () => {
    const now = {
      ...pod,
      containers: [
        { ...container, command: ['x'] },
        { name: 'd', image: 'y' },
      ],
    };
    expect(goDiff('core.PodSpec', pod, now)).toBe(
      lines(
        '  core.PodSpec{',
        '  \tVolumes:        nil,',
        '  \tInitContainers: nil,',
        '  \tContainers: []core.Container{',
        '  \t\t{',
        '  \t\t\tName:       "c",',
        '  \t\t\tImage:      "nginx",',
        '- \t\t\tCommand:    nil,',
        '+ \t\t\tCommand:    []string{"x"},',
        '  \t\t\tArgs:       nil,',
        '  \t\t\tWorkingDir: "",',
        '  \t\t\t... // 19 identical fields',
        '  \t\t},',
        '+ \t\t{Name: "d", Image: "y"},',
        '  \t},',
        '  \tEphemeralContainers: nil,',
        '  \tRestartPolicy:       "Always",',
        '  \t... // 29 identical fields',
        '  }',
      ),
    );
  });

  it('prints quantities with all that they are', () => {
    const claim = (storage: string): JsonObject => ({
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage } },
    });
    const changed = (from: string, to: string): string =>
      goDiff('core.PersistentVolumeClaimSpec', claim(from), claim(to));
    expect(changed('1Gi', '2Gi')).toBe(
      lines(
        '  core.PersistentVolumeClaimSpec{',
        '  \tAccessModes: {"ReadWriteOnce"},',
        '  \tSelector:    nil,',
        '  \tResources: core.VolumeResourceRequirements{',
        '  \t\tLimits: nil,',
        '- \t\tRequests: core.ResourceList{',
        '- \t\t\ts"storage": {i: resource.int64Amount{value: 1073741824}, s: "1Gi", Format: "BinarySI"},',
        '- \t\t},',
        '+ \t\tRequests: core.ResourceList{',
        '+ \t\t\ts"storage": {i: resource.int64Amount{value: 2147483648}, s: "2Gi", Format: "BinarySI"},',
        '+ \t\t},',
        '  \t},',
        '  \tVolumeName:       "",',
        '  \tStorageClassName: nil,',
        '  \t... // 4 identical fields',
        '  }',
      ),
    );
    const pieces = changed('512Mi', '1500k');
    expect(pieces).toContain('{i: resource.int64Amount{value: 536870912}, Format: "BinarySI"}');
    expect(pieces).toContain(
      '{i: resource.int64Amount{value: 1500, scale: 3}, s: "1500k", Format: "DecimalSI"}',
    );
  });

  it('lets selectors print themselves, and uses backquotes where quotes would need escapes', () => {
    const selector = {
      matchLabels: { a: 'b' },
      matchExpressions: [{ key: 'c', operator: 'In', values: ['d', 'e'] }],
    };
    expect(goDiff('core.PersistentVolumeClaimSpec', {}, { selector })).toContain(
      '+ \tSelector:    s"&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:c,Operator:In,Values:[d e],},},}",',
    );
    expect(goDiff('core.PodSpec', { hostname: 'a' }, { hostname: 'say "b"' })).toContain('`say "b"`');
  });

  it('counts what is too much to be shown, and ends for long lists', () => {
    const labels = (value: string): JsonObject => ({
      nodeSelector: Object.fromEntries(
        Array.from({ length: 40 }, (_, index) => [`k${index + 10}`, index % 2 === 0 ? value : 'same']),
      ),
    });
    expect(goDiff('core.PodSpec', labels('a'), labels('b'))).toContain(
      '... // 5 identical and 4 modified entries',
    );
    const tolerations = (count: number): JsonObject => ({
      tolerations: Array.from({ length: count }, (_, index) => ({ key: `k${index}` })),
    });
    expect(goDiff('core.PodSpec', tolerations(300), tolerations(301))).toContain(
      '... // 298 identical elements',
    );
  });
});
