import { expect, test } from 'vitest';
import { renderPage } from './page.js';

test('what comes from elsewhere is escaped', () => {
  const { body } = renderPage([{ path: '/a"onclick="x', text: '<img src=x> & more' }]);
  expect(body).not.toContain('<img');
  expect(body).toContain('href="/a&#34;onclick=&#34;x"');
  expect(body).toContain('&#60;img src=x&#62; &#38; more');
});
