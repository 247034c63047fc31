/** `atoll graph`: definitions of resource graphs checked, rendered, drawn and compared, without any cluster. */
export { type DiagramOptions, drawGraphs } from './diagram.ts';
export { type DiffOptions, diffGraphs } from './diff.ts';
export { type RenderOptions, renderGraph } from './render.ts';
export { type ShowDefinitionOptions, showDefinitions } from './show-definition.ts';
export { type ValidateOptions, validateGraphs } from './validate.ts';
