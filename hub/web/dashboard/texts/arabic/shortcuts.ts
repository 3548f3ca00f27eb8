import type { shortcuts as english } from '../english/shortcuts.ts';

/** Texts of the list of keyboard shortcuts. */
export const shortcuts: typeof english = {
  title: 'اختصارات لوحة المفاتيح',
  everywhere: 'في كل مكان',
  search: 'البحث',
  runs: 'قائمة عمليات التشغيل',
  rows: 'الصف التالي والسابق',
  select: 'تحديد الصف',
  open: 'فتح الصف',
  run: 'صفحة عملية التشغيل',
  steps: 'الخطوة التالية والسابقة',
  inbox: 'لصندوق الوارد مفاتيحه الخاصة: اضغط ? هناك.',
};
