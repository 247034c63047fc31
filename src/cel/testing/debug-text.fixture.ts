import type { Expr, LiteralValue } from '../syntax/ast.ts';
import { doubleText } from '../values/double-text.ts';
import { Double, Uint } from '../values/value.ts';

/** The tree in the notation of the suite: each node with its kind, children indented. */
export function debugText(expr: Expr): string {
  return write(expr, '');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\v': '\\v',
};

function quoted(text: string, ascii: boolean): string {
  const parts = Array.from(text, (char) => {
    const code = char.codePointAt(0) ?? 0;
    const plain = code >= 0x20 && (ascii ? code < 0x7f : code !== 0x7f);
    return ESCAPES[char] ?? (plain ? char : `\\x${code.toString(16).padStart(2, '0')}`);
  });
  return `"${parts.join('')}"`;
}

function literal(value: LiteralValue): string {
  if (value === null) return 'null^#*expr.Constant_NullValue#';
  if (typeof value === 'boolean') return `${value}^#*expr.Constant_BoolValue#`;
  if (typeof value === 'string') return `${quoted(value, false)}^#*expr.Constant_StringValue#`;
  if (value instanceof Uint) return `${value.value}u^#*expr.Constant_Uint64Value#`;
  if (value instanceof Double) return `${doubleText(value.value)}^#*expr.Constant_DoubleValue#`;
  if (value instanceof Uint8Array && Buffer.from(Buffer.from(value).toString('utf8')).equals(value)) {
    return `b${quoted(Buffer.from(value).toString('utf8'), false)}^#*expr.Constant_BytesValue#`;
  }
  if (value instanceof Uint8Array)
    return `b${quoted(Buffer.from(value).toString('latin1'), true)}^#*expr.Constant_BytesValue#`;
  return `${value}^#*expr.Constant_Int64Value#`;
}

function block(open: string, items: readonly string[], close: string, indent: string): string {
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${indent}  ${item}`).join(',\n')}\n${indent}${close}`;
}

function write(expr: Expr, indent: string): string {
  const inner = `${indent}  `;
  switch (expr.kind) {
    case 'literal':
      return literal(expr.value);
    case 'ident':
      return `${expr.name}^#*expr.Expr_IdentExpr#`;
    case 'select':
      return `${write(expr.operand, indent)}.${expr.field}${expr.testOnly ? '~test-only~' : ''}^#*expr.Expr_SelectExpr#`;
    case 'call': {
      const target = expr.target ? `${write(expr.target, indent)}.` : '';
      const args = expr.args.map((arg) => write(arg, inner));
      return `${target}${block(`${expr.function}(`, args, ')', indent)}^#*expr.Expr_CallExpr#`;
    }
    case 'list': {
      const optional = new Set(expr.optional);
      const items = expr.elements.map(
        (item, index) => `${optional.has(index) ? '?' : ''}${write(item, inner)}`,
      );
      return `${block('[', items, ']', indent)}^#*expr.Expr_ListExpr#`;
    }
    case 'map': {
      const items = expr.entries.map(
        (entry) =>
          `${entry.optional ? '?' : ''}${write(entry.key, inner)}:${write(entry.value, inner)}^#*expr.Expr_CreateStruct_Entry#`,
      );
      return `${block('{', items, '}', indent)}^#*expr.Expr_StructExpr#`;
    }
    case 'struct': {
      const items = expr.entries.map(
        (entry) =>
          `${entry.optional ? '?' : ''}${entry.field}:${write(entry.value, inner)}^#*expr.Expr_CreateStruct_Entry#`,
      );
      return `${block(`${expr.type}{`, items, '}', indent)}^#*expr.Expr_StructExpr#`;
    }
    case 'comprehension': {
      const part = (name: string, text: string): string => `${inner}// ${name}\n${inner}${text}`;
      const parts = [
        part('Variable', expr.variable),
        ...(expr.variable2 === undefined ? [] : [part('Variable2', expr.variable2)]),
        part('Target', write(expr.range, inner)),
        part('Accumulator', expr.accumulator),
        part('Init', write(expr.init, inner)),
        part('LoopCondition', write(expr.condition, inner)),
        part('LoopStep', write(expr.step, inner)),
        part('Result', write(expr.result, inner)),
      ];
      return `__comprehension__(\n${parts.join(',\n')})^#*expr.Expr_ComprehensionExpr#`;
    }
  }
}
