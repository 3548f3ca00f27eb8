import type { agents as english } from '../english/agents.ts';

/** Texts of the agents pages. */
export const agents: typeof english = {
  missing: 'لا يوجد وكيل ذكاء اصطناعي بهذا المعرّف',
  empty: 'لا يوجد وكلاء بعد',
  emptyText: 'يجيب الوكيل عن رسائل القنوات ويعمل كخطوة في مسارات العمل. أنشئ وكيلًا عبر واجهة البرمجة.',
  name: 'الاسم',
  model: 'النموذج',
  anyModel: 'ترتيب البدائل',
  profile: 'الأدوات',
  noProfile: 'بلا أدوات',
  routes: 'مفاتيح التوجيه',
  changed: 'آخر تغيير',
  prompt: 'التعليمات',
  allowed: 'المهارات المسموح بها',
  denied: 'المهارات الممنوعة',
  json: 'بصيغة JSON',
  none: 'لا شيء',
};
