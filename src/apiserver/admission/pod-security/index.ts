/**
 * Pod security: labels of a namespace say how much its pods may ask of their node (`enforce`), and of which pods to warn
 * (`warn`) or to note it in the audit log (`audit`). The levels are `privileged`, which forbids nothing, `baseline` and `restricted`, each as of a release. What a
 * level forbids is a list of checks, each with its reason and where in the pod it was found; they are evaluated in the
 * order of their names, and all that fail are told. Wrong labels are refused, and pods that a new level would no longer
 * let in are named in warnings.
 */
export { podSecurity } from './pod-security.ts';
