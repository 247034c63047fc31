import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { referencePage } from './testing/reference-page.fixture.ts';

it('the page of functions is that of the libraries', async () => {
  const page = fileURLToPath(new URL('../../docs/cel.md', import.meta.url));
  await expect(referencePage()).toMatchFileSnapshot(page);
});
