/**
 * `metrics.k8s.io` for simulated pods and nodes. Nothing is measured or kept: usage is a function of what is requested, so that
 * the same pods always show the same numbers; annotations on a pod set them ({@link CPU_USAGE}, {@link MEMORY_USAGE}).
 */
export { type ComputedScope, usageMetrics } from './metrics-objects.ts';
export { METRICS_GROUP, metricsResources } from './metrics-resources.ts';
export { CPU_USAGE, MEMORY_USAGE } from './usage.ts';
