import { describe, expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';

describe('metrics', () => {
  it('are empty until somebody counts', () => {
    expect(createMetrics().text()).toBe('');
  });

  it('count by labels, and are the same counter for the same name', () => {
    const metrics = createMetrics();
    const row = { name: 'seen_total', help: 'What was seen.' };
    metrics.counter(row).add({ what: 'bird' });
    metrics.counter(row).add({ what: 'bird' }, 2);
    metrics.counter(row).add({ what: 'a "quoted\\\n' });
    expect(metrics.text()).toBe(
      [
        '# HELP seen_total What was seen.',
        '# TYPE seen_total counter',
        'seen_total{what="bird"} 3',
        'seen_total{what="a \\"quoted\\\\\\n"} 1',
        '',
      ].join('\n'),
    );
  });

  it('look when they are asked, and no more once what looked is taken away', () => {
    const metrics = createMetrics();
    let size = 1;
    const remove = metrics.gauge({ name: 'size', help: 'How big.' }, () => [{ value: size }]);
    size = 7;
    expect(metrics.text()).toBe('# HELP size How big.\n# TYPE size gauge\nsize 7\n');
    remove();
    expect(metrics.text()).toBe('');
  });

  it('keep a bounded number of series, whatever labels say', () => {
    const metrics = createMetrics();
    const counter = metrics.counter({ name: 'many_total', help: 'Many.' });
    for (let i = 0; i < 1500; i += 1) counter.add({ id: `${i}` });
    const lines = metrics.text().split('\n');
    expect(lines).toContain('many_total{id="other"} 500');
    expect(lines.length).toBe(2 + 1001 + 1);
  });
});
