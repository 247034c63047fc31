/** `atoll graph`: definitions of resource graphs checked, rendered, drawn and compared, without any cluster. */
export { type AccessOptions, showAccess } from './access.ts';
export { type DiagramOptions, drawGraphs } from './diagram.ts';
export { type DiffOptions, diffGraphs } from './diff.ts';
export { type PullOptions, type PushOptions, pullGraphs, pushGraphs } from './exchange.ts';
export { type FormatOptions, formatGraphs } from './format.ts';
export { type LintOptions, lintGraphs } from './lint.ts';
export { type PreviewOptions, previewGraphs } from './preview.ts';
export { type RenderOptions, renderGraph } from './render.ts';
export { type SampleOptions, sampleInstances } from './sample.ts';
export { type ShowDefinitionOptions, showDefinitions } from './show-definition.ts';
export { type ValidateOptions, validateGraphs } from './validate.ts';
