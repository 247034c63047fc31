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

  it('tell how values are spread', () => {
    const metrics = createMetrics();
    const took = metrics.histogram({ name: 'took_seconds', help: 'How long.', bounds: [0.1, 1] });
    for (const value of [0.05, 0.1, 0.5, 3]) took.observe(value, { what: 'a' });
    metrics.histogram({ name: 'size', help: 'How big.', bounds: [8] }).observe(4);
    expect(metrics.text().split('\n')).toEqual([
      ...['# HELP size How big.', '# TYPE size histogram'],
      ...['size_bucket{le="8"} 1', 'size_bucket{le="+Inf"} 1', 'size_sum 4', 'size_count 1'],
      ...['# HELP took_seconds How long.', '# TYPE took_seconds histogram'],
      ...['took_seconds_bucket{what="a",le="0.1"} 2', 'took_seconds_bucket{what="a",le="1"} 3'],
      ...['took_seconds_bucket{what="a",le="+Inf"} 4', 'took_seconds_sum{what="a"} 3.65'],
      ...['took_seconds_count{what="a"} 4', ''],
    ]);
  });

  it('keep a bounded number of series, whatever labels say', () => {
    const metrics = createMetrics();
    const counter = metrics.counter({ name: 'many_total', help: 'Many.' });
    for (let i = 0; i < 1500; i += 1) counter.add({ id: `${i}` });
    const lines = metrics.text().split('\n');
    expect(lines).toContain('many_total{id="other"} 500');
    expect(lines.length).toBe(2 + 1001 + 1);
  });

  it('are forgotten by a label, whole and of nothing else', () => {
    const metrics = createMetrics();
    const counter = metrics.counter({ name: 'some_total', help: 'Some.' });
    const histogram = metrics.histogram({ name: 'long', help: 'Long.', bounds: [1] });
    for (const cluster of ['a', 'ab', 'a"', 'x,cluster="a"']) {
      counter.add({ id: '1', cluster });
      histogram.observe(2, { cluster });
    }
    counter.add({ cluster: 'a', id: '2' });
    counter.add({ id: 'a', mycluster: 'a' });
    counter.add({ id: 'x",cluster="a' });
    metrics.forget('cluster', 'a');
    const left = metrics
      .text()
      .split('\n')
      .filter((line) => /^(some_total|long_count)/.test(line));
    expect(left).toEqual([
      'some_total{id="1",cluster="ab"} 1',
      'some_total{id="1",cluster="a\\""} 1',
      'some_total{id="1",cluster="x,cluster=\\"a\\""} 1',
      'some_total{id="a",mycluster="a"} 1',
      'some_total{id="x\\",cluster=\\"a"} 1',
      'long_count{cluster="ab"} 1',
      'long_count{cluster="a\\""} 1',
      'long_count{cluster="x,cluster=\\"a\\""} 1',
    ]);
    counter.add({ id: '1', cluster: 'a' });
    expect(metrics.text()).toContain('some_total{id="1",cluster="a"} 1');
  });
});
