import { startPage } from './page.ts';
import { applyTheme } from './view/parts/theme.ts';

applyTheme();
document.addEventListener('DOMContentLoaded', startPage);
