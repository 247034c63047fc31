import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityMillis,
  quantityNumber,
  quantityProblems,
  quantityUnits,
  subtractQuantities,
  sumQuantities,
} from './quantity.ts';

function quantity(text: string | number): Quantity {
  const found = parseQuantity(text);
  if (!found) throw new Error(`${text} is not a quantity`);
  return found;
}

describe('quantities', () => {
  it.each<[string | number, string]>([
    ['0', '0'],
    ['0Gi', '0'],
    ['-0.0', '0'],
    ['1', '1'],
    ['+5', '5'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['5.', '5'],
    ['1.5', '1500m'],
    ['1000', '1k'],
    ['1000m', '1'],
    ['1500k', '1500k'],
    ['1000k', '1M'],
    ['1.5Gi', '1536Mi'],
    ['1024Mi', '1Gi'],
    ['1000Mi', '1000Mi'],
    ['512', '512'],
    ['1Ki', '1Ki'],
    ['0.5Ki', '512'],
    ['0.5Mi', '512Ki'],
    ['0.0001Ki', '102400u'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['12e2', '1200'],
    ['1.2e-1', '120e-3'],
    ['1E', '1E'],
    ['1000P', '1E'],
    ['1000E', '1000E'],
    ['100n', '100n'],
    ['1u', '1u'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['-1.5Ki', '-1536'],
    ['-2048Ki', '-2Mi'],
    [2, '2'],
    [0.25, '250m'],
  ])('%s is canonically %s', (text, expected) => {
    expect(canonicalQuantity(text)).toBe(expected);
  });

  it.each([
    '',
    '.',
    'm',
    '1ki',
    '1 Gi',
    '1Gi ',
    '1e',
    '1.1.1',
    '--1',
    '1e99999',
    '1kk',
    'Infinity',
    `${'1'.repeat(200)}`,
  ])('%j is not a quantity', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
    expect(quantityProblems(text)[0]).toMatch(/^quantities must match the regular expression/);
  });

  it('compares across formats', () => {
    expect(compareQuantities(quantity('1000m'), quantity('1'))).toBe(0);
    expect(compareQuantities(quantity('1Gi'), quantity('1G'))).toBe(1);
    expect(compareQuantities(quantity('999Mi'), quantity('1Gi'))).toBe(-1);
  });

  it('sums up in the format of the first that is not zero', () => {
    expect(formatQuantity(sumQuantities(['0', '512Mi', '1Gi']))).toBe('1536Mi');
    expect(formatQuantity(sumQuantities(['100m', '1', 0.9]))).toBe('2');
    expect(formatQuantity(sumQuantities([]))).toBe('0');
    expect(() => sumQuantities(['1', 'x'])).toThrow(RangeError);
  });

  it('gives whole units and thousandths, rounded up', () => {
    expect([quantityUnits(quantity('1500m')), quantityUnits(quantity('-1500m'))]).toEqual([2n, -2n]);
    expect(quantityMillis(quantity('1.0001'))).toBe(1001n);
    expect(quantityMillis(quantity('250m'))).toBe(250n);
    expect(quantityNumber(quantity('1.5Ki'))).toBe(1536);
  });

  const texts = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.integer({ min: 0, max: 1_000_000 }),
      fc.constantFrom('', '.5', '.25', '.001'),
      fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'Ki', 'Mi', 'Gi', 'Ti', 'e3', 'e-3'),
    )
    .map((parts) => parts.join(''));

  it('bytes that are no whole number of a binary unit are written out', () => {
    expect(canonicalQuantity('344406.25Ki')).toBe('352672000');
  });

  it('canonical texts are fixed points of the same value', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const canonical = canonicalQuantity(text) ?? '';
        expect(quantity(canonical).nanos).toBe(quantity(text).nanos);
        // Bytes that are no whole Ki are written without a unit, and a number without one is read as a decimal one.
        const lostItsUnit = text.endsWith('i') && !canonical.endsWith('i');
        if (!lostItsUnit) expect(canonicalQuantity(canonical)).toBe(canonical);
        expect(canonical).not.toContain('.');
      }),
    );
  });

  it('addition is a commutative group', () => {
    fc.assert(
      fc.property(texts, texts, texts, (x, y, z) => {
        const [a, b, c] = [quantity(x), quantity(y), quantity(z)];
        expect(addQuantities(a, b).nanos).toBe(addQuantities(b, a).nanos);
        expect(addQuantities(addQuantities(a, b), c).nanos).toBe(addQuantities(a, addQuantities(b, c)).nanos);
        expect(subtractQuantities(addQuantities(a, b), b).nanos).toBe(a.nanos);
        expect(compareQuantities(a, b)).toBe(-compareQuantities(b, a) + 0);
      }),
    );
  });
});
