import { expect, it } from 'vitest';
import { startServer } from './server.fixture.ts';

const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const review = { spec: { user: 'u', resourceAttributes: { verb: 'get', resource: 'pods' } } };

it('there are no tables of reviews: the next form that is accepted is taken, or none', async () => {
  const { post } = await startServer();
  const whole = await post(REVIEWS, review, { accept: `${TABLE},application/json` });
  expect([whole.status, whole.body.kind]).toEqual([201, 'SubjectAccessReview']);
  expect((await post(REVIEWS, review, { accept: TABLE })).status).toBe(406);
});

it('an answer that is given beforehand counts for nothing, but is on record; what the server sets is ignored', async () => {
  const { post } = await startServer();
  const { body } = await post(REVIEWS, {
    ...review,
    metadata: { uid: 'x', creationTimestamp: '2026-01-01T00:00:00Z' },
    status: { allowed: true, reason: 'because' },
  });
  expect(body.status).toEqual({ allowed: false });
  expect(body.metadata.managedFields[0].fieldsV1['f:status']).toEqual({ 'f:allowed': {}, 'f:reason': {} });
});
