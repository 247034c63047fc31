/**
 * What Kubernetes objects are made of, as pure functions over JSON: types, patches, selectors, quantities, names, decoding.
 *
 * - **Values** (`json.ts`): Kubernetes objects are JSON objects. `clone`, `deepEqual`, `canonicalJson`, reading at paths.
 * - **Types** (`open-api-schema.ts`): one form of schema for built-in kinds and custom resources. A {@link TypeSchema} drives
 *   {@link prune} (unknown fields), {@link applyDefaults} and {@link dropNulls}, {@link validateValue} (custom resources),
 *   {@link typeCheck} (built-in kinds), {@link applyStrategicMergePatch}, and server-side apply in `apply/`.
 *   {@link validateStructural} says whether a custom schema is fit for that.
 * - **Patches**: {@link applyJsonPatch}, {@link applyMergePatch}, {@link applyStrategicMergePatch}. They change neither the
 *   document nor the patch, and their result shares nothing with either. They throw {@link PatchError}.
 * - **Selectors**: by labels, in the text form and in the object form, and by fields.
 * - **Notations**: quantities, `25%`, JSONPath, ages, names.
 * - **Decoding**: {@link parseJsonBody}, {@link parseYamlBody}, {@link parseManifests}, with limits of size and depth.
 *
 * Problems of input are data: {@link FieldIssue}s, lists of texts, `{ error }`. Only patches, JSONPaths and sums of
 * quantities throw, each an error type of its own. Regular expressions of schemas are matched in linear time.
 */
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_DEPTH,
  type Decoded,
  type DecodeFailure,
  type DecodeLimits,
  parseJsonBody,
} from './decode.ts';
export { applyDefaults, dropNulls } from './defaults.ts';
export { childPath, type FieldIssue } from './field-issue.ts';
export {
  type FieldRequirement,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  requiredFieldValue,
} from './field-selector.ts';
export { goSyntax } from './go-syntax.ts';
export { humanDuration } from './human-duration.ts';
export { percentProblems, scaledValue } from './int-or-percent.ts';
export {
  at,
  canonicalJson,
  clone,
  deepEqual,
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  stringAt,
  stringsAt,
} from './json.ts';
export {
  applyJsonPatch,
  type JsonPatchOperation,
  MAX_JSON_PATCH_COPIED_BYTES,
  MAX_JSON_PATCH_OPERATIONS,
  validateJsonPatch,
} from './json-patch.ts';
export { compileJsonPath, type JsonPath, JsonPathError, simpleJsonPath } from './json-path.ts';
export { formatJsonPointer, parseJsonPointer } from './json-pointer.ts';
export { exactInteger, jsonText, parseJson, plainText } from './json-text.ts';
export {
  formatSelector,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  type LabelSelectorExpression,
  matchesSelector,
  parseLabelSelector,
  type Selector,
  selectEverything,
  selectNothing,
  selectorFromObject,
} from './label-selector.ts';
export { applyMergePatch, createMergePatch } from './merge-patch.ts';
export {
  isDns1123Label,
  isDns1123Subdomain,
  validateAnnotations,
  validateConfigMapKey,
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelKey,
  validateLabels,
  validateLabelValue,
  validatePathSegmentName,
  validateQualifiedName,
  validateWildcardDns1123Subdomain,
} from './names.ts';
export { dereference, type OpenApiSchema, refName, type TypeSchema } from './open-api-schema.ts';
export { PatchError, type PatchErrorReason } from './patch-error.ts';
export { type PruneOptions, prune } from './prune.ts';
export {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  type QuantityFormat,
  quantityMillis,
  quantityNumber,
  quantityProblems,
  quantityUnits,
  subtractQuantities,
  sumQuantities,
  zeroQuantity,
} from './quantity.ts';
export { compileRegularExpression, type RegularExpression } from './regular-expression.ts';
export { memberSchema, resolved } from './schema-lookup.ts';
export { applyStrategicMergePatch } from './strategic-merge-patch.ts';
export { hasFormat } from './string-format.ts';
export { validateStructural } from './structural.ts';
export { type TypeIssue, typeCheck } from './type-check.ts';
export { typeName, validateValue } from './validate.ts';
export {
  type ManifestProblem,
  type Manifests,
  parseManifests,
  parseYamlBody,
  parseYamlDocuments,
  type YamlDocument,
} from './yaml-body.ts';
