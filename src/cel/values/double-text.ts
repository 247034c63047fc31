/** The shortest text that reads back as the double, in the form that Go gives it: exponents below −4 and from 6 on. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 6) {
    const digits = String(Math.abs(power)).padStart(2, '0');
    return `${mantissa}e${power < 0 ? '-' : '+'}${digits}`;
  }
  return power >= 0 ? String(value) : fixedText(value, mantissa, power);
}

/** JavaScript turns to exponents below 1e-6, Go below 1e-4. */
function fixedText(value: number, mantissa: string, power: number): string {
  const digits = mantissa.replace(/[-.]/g, '');
  return `${value < 0 ? '-' : ''}0.${'0'.repeat(-power - 1)}${digits}`;
}
